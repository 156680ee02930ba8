// The order in which a rank exchanges data with the aggregators, step by step. Source: Tsujita et al., "Improving collective MPI-IO
// using topology-aware stepwise data aggregation" (ISC 2015): normal (all ranks start with the first aggregator: in-degree = ranks),
// ring, node shift (start on the next node), node and rank shift (also rotate within each node: one rank per step and aggregator,
// if every rank aggregates and all nodes have equally many). Construction is O(aggregators + nodes), a step O(1).
#pragma once

#include "plan/node_buffers.h"
#include "plan/plan.h"

namespace mercutio {

// Where a rank is: its node, and its index among the ranks of the node.
struct RankPlace {
  i64 rank = 0, node = 0, index = 0;
};
RankPlace place_of(i64 rank, const Topology& topology);   // O(ranks)

class ExchangeSchedule {
 public:
  ExchangeSchedule(const Plan& plan, const Topology& topology);
  // The aggregator (index) that a rank visits at step 0 .. plan.domains() - 1: each exactly once.
  i64 peer(const RankPlace& of, i64 step) const;

 private:
  ExchangeOrder order_;
  i64 ranks_ = 0, count_ = 0;
  std::vector<i64> node_of_aggregator_;
  ByNode aggregators_;
};

}  // namespace mercutio
