// The first step of a collective access: the ranks gather what they must know of each other before data is moved. Inside engine/
// only.
//
// Every rank contributes one Entry. The entries of a node are combined in its shared memory, and the first ranks of the nodes
// gather the sums. A node therefore receives O(nodes) bytes, whatever its number of ranks. If the ranks' data is not in rank order,
// up to kMostGroups groups of ranks are gathered as well. If the pattern repeats an earlier one at another offset, one all-reduce
// of a few numbers suffices. Every decision that the ranks must share is computed from the result, which is the same on all ranks.
#pragma once

#include "engine/engine.h"
#include "engine/window/agreed.h"

namespace mercutio {

Task<Status> enter(const EngineFile& file, const Channel& channel, const Access& access, const CollectiveOptions& options, Agreed& agreed);

}  // namespace mercutio
