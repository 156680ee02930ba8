// The first step of a collective access: the ranks gather what they must know of each other before data is moved. Inside engine/
// only.
//
// Every rank contributes one Entry. The entries of a node are combined in its shared memory, and the first ranks of the nodes
// gather the sums. A node therefore receives O(nodes) bytes, whatever its number of ranks. If the ranks' data is not in rank order,
// up to kMostGroups groups of ranks are gathered as well. If the pattern repeats an earlier one at another offset, one all-reduce
// of a few numbers suffices. Every decision that the ranks must share is computed from the result, which is the same on all ranks.
#pragma once

#include "engine/engine.h"
#include "engine/window_buffer.h"

namespace mercutio {

// The agreed values, equal on all ranks unless stated otherwise.
struct Agreed {
  bool failed = false;       // some rank takes part with an Error; no rank moves data
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

Task<Status> enter(const EngineFile& file, const Channel& channel, const Access& access, const CollectiveOptions& options, Agreed& agreed);

}  // namespace mercutio
