#include "plan/node_buffers.h"

#include <algorithm>

namespace mercutio {
namespace {

i64 node_of(const Topology& topology, i64 rank) { return topology.node_of_rank[static_cast<size_t>(rank)]; }

}  // namespace

std::vector<NodeBuffer> node_buffers_of(const std::vector<i64>& aggregators, const Topology& topology, i64 node) {
  std::vector<i64> members;
  for (i64 rank = 0; rank < topology.ranks(); ++rank) {
    if (node_of(topology, rank) == node) members.push_back(rank);
  }
  std::vector<NodeBuffer> buffers;
  i64 off_node = 0;
  for (const i64 aggregator : aggregators) {
    if (node_of(topology, aggregator) == node) {
      buffers.push_back(NodeBuffer{aggregator, 0});
    } else {
      const i64 count = static_cast<i64>(members.size()), turn = off_node++;
      buffers.push_back(NodeBuffer{members[static_cast<size_t>(turn % count)], 1 + turn / count});
    }
  }
  return buffers;
}

i64 most_node_buffers(const std::vector<i64>& aggregators, const Topology& topology) {
  const size_t nodes = static_cast<size_t>(std::max<i64>(1, topology.nodes()));
  std::vector<i64> members(nodes, 0), own(nodes, 0);
  for (const i64 node : topology.node_of_rank) ++members[static_cast<size_t>(node)];
  for (const i64 aggregator : aggregators) ++own[static_cast<size_t>(node_of(topology, aggregator))];
  i64 most = 1;
  for (size_t node = 0; node < nodes; ++node) {
    if (members[node] == 0) continue;
    const i64 off_node = static_cast<i64>(aggregators.size()) - own[node];
    most = std::max(most, 1 + (off_node + members[node] - 1) / members[node]);
  }
  return most;
}

}  // namespace mercutio
