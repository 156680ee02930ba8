// What the ranks have agreed on before data is moved. Inside engine/ only.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/window/window_buffer.h"

namespace mercutio {

// The agreed values, equal on all ranks unless stated otherwise.
struct Agreed {
  bool failed = false;       // some rank takes part with an Error; no rank moves data that has not been moved early
  std::optional<i64> moved;  // bytes: all ranks have moved their data early (engine/early.h); differs between ranks
  bool more = false;         // another round of this access follows
  bool atomic = false;
  std::shared_ptr<const Plan> plan;
  PieceBorders borders;
  i64 file_bytes = -1;       // reading: the agreed size of the file; -1: unknown
  bool dense = false;        // writing: no window has a hole, so no rank sets a valid map
  std::uint64_t dense_key = 0;    // key of the pattern; 0: none
  std::vector<FileRange> ranges;  // that hold the data of each node; of each rank if no memory is shared
  RankSummary mine;          // of the calling rank; differs between ranks
};

}  // namespace mercutio
