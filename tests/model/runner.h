// Runs a planned case on ranks that are threads, and compares with what the oracle says.
#pragma once

#include <string>

#include "oracle.h"

namespace mercutio::oracle {

// Empty when everything was as planned, else what was different, at which step, on which rank.
std::string run_case(const Case& random_case);

// The smallest case that still fails, found by leaving out steps and ranks.
Case shrink(Case failing);

}  // namespace mercutio::oracle
