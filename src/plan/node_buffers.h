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

// The numbers 0, 1, ... by the node of each, ascending on each node. Construction is O(numbers + nodes).
class ByNode {
 public:
  ByNode(const std::vector<i64>& node_of, i64 nodes);
  std::span<const i64> of(i64 node) const { return std::span(numbers_).subspan(static_cast<size_t>(begin(node)), static_cast<size_t>(begin(node + 1) - begin(node))); }
  i64 begin(i64 node) const { return begin_[static_cast<size_t>(node)]; }   // how many are on the nodes before it
  i64 at(i64 position) const { return numbers_[static_cast<size_t>(position)]; }   // of all, node after node

 private:
  std::vector<i64> numbers_, begin_;
};

// The nodes of the aggregators; 0 for a rank that is not in the topology.
std::vector<i64> nodes_of_aggregators(const std::vector<i64>& aggregators, const Topology& topology);

// The node buffers of all domains and nodes. Construction is O(aggregators + nodes).
class NodeBuffers {
 public:
  NodeBuffers(const std::vector<i64>& aggregators, const Topology& topology);
  // `members`: the ranks of the node. O(log aggregators).
  NodeBuffer of(i64 domain, i64 node, std::span<const i64> members) const;

 private:
  const std::vector<i64>& aggregators_;   // by domain
  std::vector<i64> node_of_aggregator_;
  ByNode domains_;                        // by the node of their aggregators
};

// The maximum number of node buffers of which one rank is the leader. O(ranks).
i64 most_node_buffers(const std::vector<i64>& aggregators, const Topology& topology);

// The slots of a leader for its node buffers: buffers times plan.depth.
inline constexpr i64 kMostSlots = 64;

}  // namespace mercutio
