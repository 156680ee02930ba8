// The first step of a collective access: what all ranks learn of each other before they move data. Inside engine/ only.
//
// Every rank contributes one entry. The entries of a node are added up in its memory, and the first ranks of the nodes gather the sums, so that
// a node receives O(nodes) bytes whatever number of ranks it has; and, where ranks don't follow each other, up to kMostGroups groups of
// them. A pattern that was met before, moved in the file, needs an all-reduce of a few numbers only. Every decision that ranks must share is computed from the result, the same on each.
#pragma once

#include "engine/engine.h"
#include "engine/window_buffer.h"

namespace mercutio {

// With equal values on all ranks.
struct Agreed {
  bool failed = false;       // some rank takes part with an Error: no rank moves data
  bool more = false;         // another round of this access follows
  bool atomic = false;
  std::shared_ptr<const Plan> plan;
  PieceBorders borders;
  i64 file_bytes = -1;       // reading: no rank has written beyond it; -1: unknown
  bool dense = false;        // writing: no window has a hole
  std::uint64_t dense_key = 0;    // of the pattern; 0: it has none
  std::vector<FileRange> ranges;  // that hold the data, by node; by rank where no memory is shared
  RankSummary mine;          // of the calling rank; not the same on all ranks
  i64 measured_from_ns = 0;  // likewise: when all had entered; 0: nobody asks for the time of this access
};

Task<Status> enter(const EngineFile& file, const Channel& channel, const Access& access, const CollectiveOptions& options, Agreed& agreed);

}  // namespace mercutio
