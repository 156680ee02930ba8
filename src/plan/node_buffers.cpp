#include "plan/node_buffers.h"

#include <algorithm>

namespace mercutio {

std::span<const i64> NodeBuffers::ByNode::of(i64 node) const {
  const auto first = static_cast<size_t>(begin[static_cast<size_t>(node)]), next = static_cast<size_t>(begin[static_cast<size_t>(node) + 1]);
  return std::span(numbers).subspan(first, next - first);
}

NodeBuffers::ByNode NodeBuffers::by_node(const std::vector<i64>& node_of, i64 nodes) {
  ByNode sorted{std::vector<i64>(node_of.size()), std::vector<i64>(static_cast<size_t>(nodes) + 1, 0)};
  for (const i64 node : node_of) ++sorted.begin[static_cast<size_t>(node) + 1];
  for (size_t node = 1; node < sorted.begin.size(); ++node) sorted.begin[node] += sorted.begin[node - 1];
  std::vector<i64> next = sorted.begin;
  for (size_t number = 0; number < node_of.size(); ++number) {
    sorted.numbers[static_cast<size_t>(next[static_cast<size_t>(node_of[number])]++)] = static_cast<i64>(number);
  }
  return sorted;
}

NodeBuffers::NodeBuffers(const std::vector<i64>& aggregators, const Topology& topology) : aggregators_(aggregators) {
  for (const i64 rank : aggregators) node_of_aggregator_.push_back(topology.node_of_rank[static_cast<size_t>(rank)]);
  ranks_ = by_node(topology.node_of_rank, topology.nodes());
  domains_ = by_node(node_of_aggregator_, topology.nodes());
}

NodeBuffer NodeBuffers::of(i64 domain, i64 node) const {
  if (node_of_aggregator_[static_cast<size_t>(domain)] == node) return NodeBuffer{aggregators_[static_cast<size_t>(domain)], 0};
  const std::span<const i64> members = ranks_.of(node), own = domains_.of(node);
  const i64 turn = domain - (std::lower_bound(own.begin(), own.end(), domain) - own.begin());   // among the domains of other nodes
  return NodeBuffer{members[static_cast<size_t>(turn % std::ssize(members))], 1 + turn / std::ssize(members)};
}

i64 NodeBuffers::most_of_a_rank() const {
  i64 most = 1;
  for (i64 node = 0; node + 1 < std::ssize(ranks_.begin); ++node) {
    const i64 members = std::ssize(ranks_.of(node)), of_others = std::ssize(aggregators_) - std::ssize(domains_.of(node));
    if (members > 0) most = std::max(most, 1 + (of_others + members - 1) / members);
  }
  return most;
}

}  // namespace mercutio
