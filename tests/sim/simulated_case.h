// One seeded case: some ranks, up to three files with accesses side by side, and for each batches of collective accesses in
// random views, several in flight at once, on a network that delays and storages that are slow and may fail.
#pragma once

#include <cstdint>
#include <string>

namespace mercutio::sim {

// Empty when everything was as the oracle says, else what was wrong.
std::string run_case(std::uint64_t seed);

}  // namespace mercutio::sim
