// `mercutio probe`: what one process and one node need to reach the full speed of a file system.
#pragma once

#include <string>

#include "base/types.h"

namespace mercutio::tool {

struct ProbeOptions {
  std::string directory = ".";
  i64 volume_bytes = 64 * MiB;   // of one measurement and process
  i64 most_processes = 0;        // 0: as many as processors, at most 16
  i64 repetitions = 5;           // of each measurement
  bool keep = true;              // store what was measured
};

// 0, or 1 with a word on stderr. Prints to stdout.
int probe(const ProbeOptions& options);

}  // namespace mercutio::tool
