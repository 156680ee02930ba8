// One seeded case: some ranks, a file, and batches of collective accesses in random views, several in flight at once, on a
// network that delays and a storage that is slow and may fail.
#pragma once

#include <cstdint>
#include <string>

namespace mercutio::sim {

// Empty when everything was as the oracle says, else what was wrong.
std::string run_case(std::uint64_t seed);

}  // namespace mercutio::sim
