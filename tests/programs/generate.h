// The program of a seed. Seeds come in blocks: all programs of a block have the same ranks and environment, so that one
// job, or two jobs at a time, run them.
#pragma once

#include "program.h"

namespace mercutio::programs {

inline constexpr i64 kBlock = 100;

struct Job {
  int ranks = 1;
  int jobs = 1;
  Info environment;  // empty for most
};

[[nodiscard]] Job job_of(i64 seed, const std::string& folder);
[[nodiscard]] Program generate(i64 seed);

}  // namespace mercutio::programs
