// What the passes of make_plan share. Inside plan/ only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace mercutio::planning {

inline constexpr i64 kAggregatorsPerNode = 4;
inline constexpr i64 kAggregatorWorthBytes = 1 * MiB;   // an aggregator more must have at least this much to do
inline constexpr i64 kPageBytes = 4096;

inline i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }
inline i64 align_down(i64 value, i64 unit) { return value / unit * unit; }
inline i64 align_up(i64 value, i64 unit) { return ceil_div(value, unit) * unit; }

class Planner {
 public:
  Planner(const Pattern& p, const Hints& h, const Topology& t, const Layout& l) : pattern(p), hints(h), topology(t), layout(l) {}

  void run(const char* name, std::string (*pass)(Planner&)) { plan.reasons.push_back(Reason{name, pass(*this)}); }
  Plan finish() && {
    if (!verify(plan, pattern).ok()) {   // a plan that does not hold is never carried out: the plain way always works
      plan = Plan{};
      plan.reasons = {Reason{"strategy", "individual: the plan made did not pass verification"}};
    }
    return std::move(plan);
  }
  i64 nodes() const { return topology.nodes() > 0 ? topology.nodes() : 1; }
  i64 node_of(i64 rank) const { return rank < topology.ranks() ? topology.node_of_rank[static_cast<size_t>(rank)] : 0; }
  bool segmented() const { return plan.strategy > Strategy::kTwoPhase; }
  bool striped() const { return layout.stripe_bytes > 0 && layout.stripe_count > 0; }

  const Pattern& pattern;
  const Hints& hints;
  const Topology& topology;
  const Layout& layout;
  Plan plan;
  std::vector<RankGroup> groups;   // of segmentation: all ranks, each with the range of its data
};

// The passes, in the order they run. Each returns its reason.
std::string choose_strategy(Planner& p);
std::string choose_map(Planner& p);           // before placement: the number of aggregators depends on it
std::string place_aggregators(Planner& p);
std::string divide_file(Planner& p);
std::string choose_exchange(Planner& p);
std::string schedule_rounds(Planner& p);

// Groups of ranks with an aggregator each (plan/groups.cpp), into p.groups.
std::string form_groups(Planner& p);
// Aggregators that cost least in the model of plan/cost.cpp.
i64 cheapest_count(const Planner& p, i64 most);
double cost_seconds(const Planner& p, i64 aggregators);
// For each node, how many aggregators cb_config_list lets it have; `none` when it allows no rank at all.
std::vector<i64> aggregator_limits(const Planner& p, bool& none);

}  // namespace mercutio::planning
