// Copies what is in one open file into another by pieces, several at once; either may be remote. At the end checksums made where
// the copy lies are compared with what was read.
#pragma once

#include <functional>
#include <vector>

#include "remote/wire.h"
#include "storage/storage.h"

namespace mercutio::remote {

struct CopyEnds {
  Storage& from;
  Storage& to;
  i64 bytes = 0, there = 0;       // of the source; of what was there of the copy before
  std::vector<Extent> extents;    // of the source: what is no hole
};

struct CopySettings {
  bool resume = false;            // what is there already, by its checksum, isn't moved again
  bool verify = true;
  i64 parallel = 4;               // pieces at once
};

// So many bytes more are there. An Error ends the copy. Any of its threads.
using CopyProgress = std::function<Status(i64 bytes)>;

Status copy_content(const CopyEnds& ends, const CopySettings& settings, const CopyProgress& moved);

}  // namespace mercutio::remote
