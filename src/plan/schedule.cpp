#include "plan/schedule.h"

#include <algorithm>

namespace mercutio {

ExchangeSchedule::ExchangeSchedule(const Plan& plan, const Topology& topology)
    : order_(plan.order), ranks_(std::max<i64>(1, topology.ranks())), count_(plan.domains()), node_of_rank_(topology.node_of_rank) {
  const size_t nodes = static_cast<size_t>(std::max<i64>(1, topology.nodes()));
  std::vector<i64> members(nodes, 0);
  for (const i64 node : node_of_rank_) local_of_rank_.push_back(members[static_cast<size_t>(node)]++);
  std::vector<std::vector<i64>> lists(nodes);
  for (i64 i = 0; i < count_; ++i) {
    const i64 rank = plan.aggregators[static_cast<size_t>(i)];
    lists[static_cast<size_t>(rank < topology.ranks() ? node_of_rank_[static_cast<size_t>(rank)] : 0)].push_back(i);
  }
  for (size_t node = 0; node < nodes; ++node) {
    node_begin_.push_back(static_cast<i64>(by_node_.size()));
    for (const i64 aggregator : lists[node]) {
      by_node_.push_back(aggregator);
      node_at_.push_back(static_cast<i64>(node));
    }
  }
  node_begin_.push_back(count_);
}

i64 ExchangeSchedule::peer(i64 rank, i64 step) const {
  if (order_ == ExchangeOrder::kNormal) return step;
  if (order_ == ExchangeOrder::kRing) return (rank * count_ / ranks_ + 1 + step) % count_;   // scaled: fewer aggregators than ranks
  const bool known = rank < static_cast<i64>(node_of_rank_.size());
  const i64 node = known ? node_of_rank_[static_cast<size_t>(rank)] : 0;
  const i64 position = (node_begin_[static_cast<size_t>(node) + 1] + step) % count_;
  if (order_ == ExchangeOrder::kNodeShift) return by_node_[static_cast<size_t>(position)];
  const i64 local = known ? local_of_rank_[static_cast<size_t>(rank)] : rank;
  const size_t target = static_cast<size_t>(node_at_[static_cast<size_t>(position)]);
  const i64 begin = node_begin_[target], size = node_begin_[target + 1] - begin;
  return by_node_[static_cast<size_t>(begin + (position - begin + local) % size)];
}

}  // namespace mercutio
