// Node buffers: which rank of each node keeps the windows of a domain. On the aggregator's node it is the aggregator. On every other
// node one rank, in turn, exchanges the windows with the aggregator (two-layer aggregation: Kang et al., "Improving MPI collective
// I/O for high volume non-contiguous requests with intra-node aggregation", TPDS 2020).
#pragma once

#include <span>
#include <vector>

#include "model/topology.h"

namespace mercutio {

struct NodeBuffer {
  i64 leader = 0;    // rank
  i64 index = 0;   // among the buffers of its leader; 0: the leader is the aggregator
};

// Those of all domains and nodes. Construction is O(ranks + aggregators).
class NodeBuffers {
 public:
  NodeBuffers(const std::vector<i64>& aggregators, const Topology& topology);
  NodeBuffer of(i64 domain, i64 node) const;   // O(log aggregators)
  i64 most_of_a_rank() const;                  // O(nodes)

 private:
  // Numbers grouped by node, each group ascending.
  struct ByNode {
    std::vector<i64> numbers, begin;
    std::span<const i64> of(i64 node) const;
  };
  static ByNode by_node(const std::vector<i64>& node_of, i64 nodes);

  const std::vector<i64>& aggregators_;   // by domain
  std::vector<i64> node_of_aggregator_;
  ByNode ranks_, domains_;                // domains: by the node of their aggregators
};

// The slots of a leader for its node buffers: buffers times plan.depth.
inline constexpr i64 kMostSlots = 64;

}  // namespace mercutio
