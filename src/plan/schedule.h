// The order in which a rank exchanges data with the aggregators, step by step. Source: Tsujita et al., "Improving collective MPI-IO
// using topology-aware stepwise data aggregation" (ISC 2015): normal (all ranks start with the first aggregator: in-degree = ranks),
// ring, node shift (start on the next node), node and rank shift (also rotate within each node: one rank per step and aggregator,
// if every rank aggregates and all nodes have equally many). Construction is O(aggregators), a step O(1).
#pragma once

#include <vector>

#include "model/topology.h"
#include "plan/plan.h"

namespace mercutio {

class ExchangeSchedule {
 public:
  ExchangeSchedule(const Plan& plan, const Topology& topology);
  // The aggregator (index) that `rank` visits at step 0 .. plan.domains() - 1: each exactly once.
  i64 peer(i64 rank, i64 step) const;

 private:
  ExchangeOrder order_;
  i64 ranks_ = 0, count_ = 0;
  std::vector<i64> by_node_;        // aggregators, grouped by node
  std::vector<i64> node_at_;        // node of each position in by_node_
  std::vector<i64> node_begin_;     // first position of each node, and one past the last
  std::vector<i64> node_of_rank_, local_of_rank_;
};

}  // namespace mercutio
