// Node buffers: which rank of a node keeps the windows of a domain there. The aggregator on its own node; on every other node
// one of its ranks, in turn, which exchanges them with the aggregator (two-layer aggregation: Kang et al., "Improving MPI
// collective I/O for high volume non-contiguous requests with intra-node aggregation", TPDS 2020). O(aggregators).
#pragma once

#include <vector>

#include "model/topology.h"

namespace mercutio {

struct NodeBuffer {
  i64 leader = 0;    // rank
  i64 index = 0;   // among those of its leader; 0: the leader is the aggregator
};

// One a domain, as the ranks of `node` see them.
std::vector<NodeBuffer> node_buffers_of(const std::vector<i64>& aggregators, const Topology& topology, i64 node);
// Slots a leader has for its node buffers: buffers times plan.depth.
inline constexpr i64 kMostSlots = 64;
// The most buffers any rank of any node needs. O(ranks).
i64 most_node_buffers(const std::vector<i64>& aggregators, const Topology& topology);

}  // namespace mercutio
