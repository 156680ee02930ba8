#include "plan/schedule.h"

#include <algorithm>

namespace mercutio {

RankPlace place_of(i64 rank, const Topology& topology) {
  const auto here = topology.node_of_rank.begin() + rank;
  return {rank, *here, std::count(topology.node_of_rank.begin(), here, *here)};
}

ExchangeSchedule::ExchangeSchedule(const Plan& plan, const Topology& topology)
    : order_(plan.order),
      ranks_(std::max<i64>(1, topology.ranks())),
      count_(plan.domains()),
      node_of_aggregator_(nodes_of_aggregators(plan.aggregators, topology)),
      aggregators_(node_of_aggregator_, topology.nodes()) {}

i64 ExchangeSchedule::peer(const RankPlace& of, i64 step) const {
  if (order_ == ExchangeOrder::kNormal) return step;
  if (order_ == ExchangeOrder::kRing) return (of.rank * count_ / ranks_ + 1 + step) % count_;   // scaled: fewer aggregators than ranks
  const i64 position = (aggregators_.begin(of.node + 1) + step) % count_, aggregator = aggregators_.at(position);
  if (order_ == ExchangeOrder::kNodeShift) return aggregator;
  const i64 target = node_of_aggregator_[static_cast<size_t>(aggregator)];
  const i64 begin = aggregators_.begin(target), size = aggregators_.begin(target + 1) - begin;
  return aggregators_.at(begin + (position - begin + of.index) % size);
}

}  // namespace mercutio
