// Node buffers: which rank of each node keeps the windows of a domain. On the aggregator's node it is the aggregator. On every other
// node one rank, in turn, exchanges the windows with the aggregator (two-layer aggregation: Kang et al., "Improving MPI collective
// I/O for high volume non-contiguous requests with intra-node aggregation", TPDS 2020). O(aggregators).
#pragma once

#include <vector>

#include "model/topology.h"

namespace mercutio {

struct NodeBuffer {
  i64 leader = 0;    // rank
  i64 index = 0;   // among the buffers of its leader; 0: the leader is the aggregator
};

// One per domain, as seen from `node`.
std::vector<NodeBuffer> node_buffers_of(const std::vector<i64>& aggregators, const Topology& topology, i64 node);
// The slots of a leader for its node buffers: buffers times plan.depth.
inline constexpr i64 kMostSlots = 64;
// The maximum number of buffers of a rank, over all nodes. O(ranks).
i64 most_node_buffers(const std::vector<i64>& aggregators, const Topology& topology);

}  // namespace mercutio
