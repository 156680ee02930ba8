// Copies one open file to another in pieces, several at a time. Either file may be remote. At the end, checksums computed where the
// copy is stored are compared with those of the data read.
#pragma once

#include <functional>
#include <vector>

#include "remote/wire.h"
#include "storage/storage.h"

namespace mercutio::remote {

struct CopyEnds {
  Storage& from;
  Storage& to;
  i64 bytes = 0, there = 0;       // of the source; of the partial copy that existed before
  std::vector<Extent> extents;    // the extents of the source that are not holes
};

struct CopySettings {
  bool resume = false;            // pieces that exist already, according to their checksums, are not copied again
  bool verify = true;
  i64 parallel = 4;               // number of pieces at a time
};

// Called when this many more bytes have been copied, by any thread of the copy. An Error aborts the copy.
using CopyProgress = std::function<Status(i64 bytes)>;

Status copy_content(const CopyEnds& ends, const CopySettings& settings, const CopyProgress& moved);

}  // namespace mercutio::remote
