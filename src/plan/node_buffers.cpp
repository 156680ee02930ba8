#include "plan/node_buffers.h"

#include <algorithm>

namespace mercutio {

ByNode::ByNode(const std::vector<i64>& node_of, i64 nodes) : numbers_(node_of.size()), begin_(static_cast<size_t>(std::max<i64>(1, nodes)) + 1, 0) {
  for (const i64 node : node_of) ++begin_[static_cast<size_t>(node) + 1];
  for (size_t node = 1; node < begin_.size(); ++node) begin_[node] += begin_[node - 1];
  std::vector<i64> next = begin_;
  for (size_t number = 0; number < node_of.size(); ++number) {
    numbers_[static_cast<size_t>(next[static_cast<size_t>(node_of[number])]++)] = static_cast<i64>(number);
  }
}

std::vector<i64> nodes_of_aggregators(const std::vector<i64>& aggregators, const Topology& topology) {
  std::vector<i64> nodes;
  for (const i64 rank : aggregators) nodes.push_back(rank < topology.ranks() ? topology.node_of_rank[static_cast<size_t>(rank)] : 0);
  return nodes;
}

NodeBuffers::NodeBuffers(const std::vector<i64>& aggregators, const Topology& topology)
    : aggregators_(aggregators), node_of_aggregator_(nodes_of_aggregators(aggregators, topology)), domains_(node_of_aggregator_, topology.nodes()) {}

NodeBuffer NodeBuffers::of(i64 domain, i64 node, std::span<const i64> members) const {
  if (node_of_aggregator_[static_cast<size_t>(domain)] == node) return NodeBuffer{aggregators_[static_cast<size_t>(domain)], 0};
  const std::span<const i64> own = domains_.of(node);
  const i64 turn = domain - (std::lower_bound(own.begin(), own.end(), domain) - own.begin());   // among the domains of other nodes
  return NodeBuffer{members[static_cast<size_t>(turn % std::ssize(members))], 1 + turn / std::ssize(members)};
}

i64 most_node_buffers(const std::vector<i64>& aggregators, const Topology& topology) {
  const ByNode ranks(topology.node_of_rank, topology.nodes()), domains(nodes_of_aggregators(aggregators, topology), topology.nodes());
  i64 most = 1;
  for (i64 node = 0; node < topology.nodes(); ++node) {
    const i64 members = std::ssize(ranks.of(node)), of_others = std::ssize(aggregators) - std::ssize(domains.of(node));
    if (members > 0) most = std::max(most, 1 + (of_others + members - 1) / members);
  }
  return most;
}

}  // namespace mercutio
