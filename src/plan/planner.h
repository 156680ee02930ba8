// Shared by the passes of make_plan. Internal to plan/.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "plan/new_file.h"
#include "plan/node_layout.h"
#include "plan/plan.h"

namespace mercutio::planning {

inline constexpr i64 kAggregatorsPerNode = 4;              // if it was not measured
inline constexpr i64 kSaturationBytes = 32 * MiB;          // if it was not measured
inline constexpr i64 kAggregatorWorthBytes = 1 * MiB;   // minimum bytes of an additional aggregator
inline constexpr i64 kMessageWorthBytes = 64 * KiB;     // between nodes: minimum bytes of a node for an aggregator; at least one per node
inline constexpr i64 kPageBytes = 4096;
inline constexpr i64 kMostBlockBytes = 64 * MiB;
inline constexpr i64 kGoodPart = 8;                     // one in this many bytes

inline i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }
inline i64 align_down(i64 value, i64 unit) { return value / unit * unit; }
inline i64 align_up(i64 value, i64 unit) { return ceil_div(value, unit) * unit; }
// How many of at most `most` aggregators share the servers so that none has more than it must have, and none is in vain.
inline i64 even_count(i64 servers, i64 most) { return ceil_div(servers, ceil_div(servers, most)); }

class Planner {
 public:
  Planner(const Pattern& p, const Hints& h, const Topology& t, const Layout& l) : pattern(p), hints(h), topology(t), layout(within(l, p.begin, p.end)) {}

  void run(const char* name, std::string (*pass)(Planner&)) { plan.reasons.push_back(Reason{name, pass(*this)}); }
  Plan finish() && {
    MERCUTIO_ASSERT(verify(plan, pattern).ok());
    if (!verify(plan, pattern).ok() || !fits()) {   // an invalid plan is never carried out; kIndividual always works
      plan = Plan{};
      plan.reasons = {Reason{"strategy", "individual: the plan made did not pass verification"}};
    }
    return std::move(plan);
  }
  bool fits() const {
    return verify_room(plan, plan.exchange == ExchangeKind::kMessages ? kPrivateWindowRoom : window_room(topology)).ok();
  }
  i64 nodes() const { return topology.nodes() > 0 ? topology.nodes() : 1; }
  i64 node_of(i64 rank) const { return rank < topology.ranks() ? topology.node_of_rank[static_cast<size_t>(rank)] : 0; }
  i64 per_node() const { return hints.mercutio_aggregators_per_node > 0 ? hints.mercutio_aggregators_per_node : kAggregatorsPerNode; }
  // Bytes with which one process reaches the full speed of the storage; if not measured, a typical value of parallel file systems.
  i64 saturation_bytes() const { return hints.mercutio_saturation_bytes > 0 ? hints.mercutio_saturation_bytes : kSaturationBytes; }
  bool shares_memory() const { return nodes() == 1 && topology.segment_bytes > 0 && hints.mercutio_exchange != WantedExchange::kMessages; }
  // The nodes merge what their ranks send. With hardly more ranks than nodes nothing is merged, so a hint must ask for it.
  bool may_merge_on_nodes() const {
    const bool pays = hints.mercutio_exchange != WantedExchange::kAuto || nodes() == 1 || topology.ranks() >= 2 * nodes();
    return topology.segment_bytes > 0 && hints.mercutio_exchange != WantedExchange::kMessages && pays;
  }
  bool segmented() const { return plan.strategy > Strategy::kTwoPhase; }
  bool striped() const { return layout.stripe_bytes > 0 && layout.stripe_count > 0; }
  // The alignment of domains without stripes: whole pages.
  i64 block_bytes() const {
    return layout.block_bytes > kPageBytes && layout.block_bytes <= kMostBlockBytes && layout.block_bytes % kPageBytes == 0 ? layout.block_bytes : kPageBytes;
  }
  // If stripes differ by range: the maximum number of servers of a range with at least 1/kGoodPart of the bytes.
  i64 servers() const {
    i64 most = layout.stripe_count;
    for (const LayoutComponent& part : layout.components) {
      if ((part.end - part.begin) >= (pattern.end - pattern.begin) / kGoodPart) most = std::max(most, part.stripe_count);
    }
    return most;
  }

  const Pattern& pattern;
  const Hints& hints;
  const Topology& topology;
  const Layout layout;   // of the pattern's range
  Plan plan;
  std::vector<RankRow> groups;   // of segmentation: all ranks, each with the range of its data
};

// The passes, in the order in which they run. Each returns its reason.
std::string choose_strategy(Planner& p);
std::string choose_map(Planner& p);           // before placement: the number of aggregators depends on it
std::string place_aggregators(Planner& p);
std::string divide_file(Planner& p);
std::string choose_exchange(Planner& p);
std::string schedule_rounds(Planner& p);

// Sets p.groups: groups of ranks with one aggregator each (plan/groups.cpp).
std::string form_groups(Planner& p);
// The number of aggregators of a two-phase access, by the passes `placement` and `domains` only.
i64 count_groups(Planner& p, std::string& why);
// The number of consecutive ranks that share all but the fastest dimensions of an array: as few as have 4 MiB of the file together.
// Detected by the begin of the ranks' data, for any communicator; 0: no such rows except that of all ranks.
struct LongRows {
  i64 ranks = 0, extent = 0;
};
LongRows long_rows(const Pattern& pattern);
// The overlap of the groups' ranges: the sum of their lengths divided by the bytes they cover; 1: no overlap.
double overlap_of(const std::vector<RankRow>& groups);

// The cost model (plan/cost.cpp), in seconds.
struct Cost {
  double network = 0, copies = 0, messages = 0;   // of the exchange
  double storage = 0;
  double rounds = 1;
  bool overlapped = true;                         // more than one window in flight
  double exchange() const { return network + copies + messages; }
  double total() const;
};
Cost cost_of(const Planner& p, i64 aggregators);
// The number of aggregators with the least cost, at most `most`, each with at least kAggregatorWorthBytes.
i64 cheapest_count(const Planner& p, i64 most);
std::string cost_text(const Cost& cost);
// The number of aggregators for which the memory of the nodes has windows of a useful size. 0: not even for a few, or it isn't used.
i64 most_with_node_buffers(const Planner& p);
// For each node, the number of aggregators that cb_config_list permits; `none` is set if it permits no rank at all.
std::vector<i64> aggregator_limits(const Planner& p, bool& none);

}  // namespace mercutio::planning
