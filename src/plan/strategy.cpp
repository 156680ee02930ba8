// Strategy and domain map. Sources: the interleaving test of Thakur, Gropp and Lusk (1999), but from numbers that every
// rank has; the table of Chaarawi and Gabriel (2011) over the average run in the file, the saturation point of one
// process, the stripe and the gaps between ranks; un-splitting the fastest dimensions of a Cartesian decomposition as
// lattice codes do by hand. O(1), on several nodes O(ranks).
#include <algorithm>

#include "plan/planner.h"

namespace mercutio::planning {
namespace {

constexpr double kMostOverlap = 1.25;   // of the ranges of groups that are worth an aggregator each
constexpr i64 kUnknownStripeBytes = 1 * MiB;
constexpr i64 kStraightReadBytes = 8 * KiB;   // a system call each costs less than a second copy through an aggregator's window

struct Named {
  WantedStrategy wanted;
  Strategy strategy;
};
constexpr Named kForced[] = {
    {WantedStrategy::kIndividual, Strategy::kIndividual},       {WantedStrategy::kList, Strategy::kList},
    {WantedStrategy::kSieve, Strategy::kSieve},                 {WantedStrategy::kTwoPhase, Strategy::kTwoPhase},
    {WantedStrategy::kVulcan, Strategy::kTwoPhase},             {WantedStrategy::kDynamicGen2, Strategy::kTwoPhase},
    {WantedStrategy::kDynamic, Strategy::kDynamicSegmentation}, {WantedStrategy::kStatic, Strategy::kStaticSegmentation},
    {WantedStrategy::kTranspose, Strategy::kRowTransposition},
};

// Groups keep data off the network and need no exchange among all, as long as a group's bytes lie together in the file, or
// each run holds whole stripes. Else an aggregator would go through the whole file for small parts of every window.
bool groups_pay(Planner& p) {
  form_groups(p);
  const bool whole_stripes = p.layout.stripe_bytes > 0 && p.pattern.run_bytes > p.layout.stripe_bytes;
  return p.groups.size() > 1 && (whole_stripes || overlap_of(p.groups) <= kMostOverlap);
}

std::string table_row(const Planner& p) {
  const i64 run = p.pattern.run_bytes, stripe = p.layout.stripe_bytes, saturation = p.saturation_bytes(), gap = p.pattern.gap_bytes();
  return "; runs of " + std::to_string(run) + (run > saturation ? " > " : " <= ") + std::to_string(saturation) + " (saturation), " +
         (run > stripe ? "> " : "<= ") + std::to_string(stripe) + " (stripe), " + (gap > 0 ? "gaps of " + std::to_string(gap) : "no gaps");
}

// Whether ranks read their runs themselves, from a cache. Windows take what is in the gaps with them, so that runs of a page do, too,
// where the gaps are more than a tenth of what is asked for.
bool reads_own_runs(const Planner& p) {
  const Pattern& pattern = p.pattern;
  if (pattern.direction != Direction::kRead || !p.layout.cached || p.hints.cb_nodes != 0) return false;
  return pattern.run_bytes >= (pattern.gap_bytes() > pattern.bytes / 10 ? kPageBytes : kStraightReadBytes);
}

// The table over c, the average run; k, the saturation point of one process; ss, the stripe; and the gaps.
std::string choose_by_table(Planner& p, const std::string& otherwise) {
  const i64 run = p.pattern.run_bytes, stripe = p.layout.stripe_bytes, saturation = p.saturation_bytes(), gap = p.pattern.gap_bytes();
  Strategy& strategy = p.plan.strategy;
  strategy = Strategy::kTwoPhase;
  if (run == 0) return otherwise;   // some rank has not said
  if (run > saturation && run > stripe) {
    strategy = Strategy::kIndividual;
    return otherwise + table_row(p);
  }
  if (p.nodes() == 1) {
    if (!reads_own_runs(p)) return otherwise + ", one node";
    strategy = Strategy::kList;
    return otherwise + ", one node; runs of " + std::to_string(run) + " are read straight from memory";
  }
  const std::string row = otherwise + table_row(p);
  if (run > saturation) return row + ", a stripe is longer still";
  if (gap == 0 && overlap_of(p.pattern.groups) > kMostOverlap && long_rows(p.pattern).ranks > 0) {
    strategy = Strategy::kRowTransposition;
    return row + ", rows of ranks hold long extents";
  }
  if (gap == 0 && run <= stripe) return row;
  strategy = gap > 0 ? Strategy::kStaticSegmentation : Strategy::kDynamicSegmentation;
  if (groups_pay(p)) return row;
  strategy = Strategy::kTwoPhase;
  return row + ", but groups would interleave";
}

// What a file with a single stripe means for an access, however many ranks aggregate.
std::string cost_of_one_stripe(const Planner& p) {
  std::string text = "one stripe: a single server has all " + std::to_string(p.pattern.bytes) + " bytes";
  if (p.layout.server_mb_per_s > 0) text += ", " + std::to_string(p.pattern.bytes / (p.layout.server_mb_per_s * 1000)) + " ms at its rate";
  return text + "; striping_factor gives new files more";
}

}  // namespace

std::string choose_strategy(Planner& p) {
  const Pattern& pattern = p.pattern;
  const Toggle wish = p.hints.buffering(pattern.direction);
  const std::string hint = pattern.direction == Direction::kRead ? "romio_cb_read" : "romio_cb_write";
  p.plan.strategy = Strategy::kIndividual;
  if (pattern.bytes == 0) return "no rank has data";
  if (pattern.atomic) return "atomic mode: each access is one step under a lock of its own range";
  if (wish == Toggle::kDisable) return hint + "=disable";
  if (const auto forced = strategy_named(p.hints)) {
    p.plan.strategy = *forced;
    return "mercutio_strategy=" + word_of(p.hints.mercutio_strategy);
  }
  if (pattern.ranks == 1 && wish != Toggle::kEnable) return "one rank only";
  const bool plain = pattern.disjoint && pattern.contiguous == pattern.participants;
  if (plain && wish != Toggle::kEnable) return "every rank's data is one run and the runs are disjoint";
  p.plan.strategy = Strategy::kTwoPhase;
  if (wish == Toggle::kEnable) return hint + "=enable";
  return choose_by_table(p, pattern.disjoint ? "some rank's data is scattered" : "the ranks' ranges interleave");
}

std::string choose_map(Planner& p) {
  Plan& plan = p.plan;
  const WantedDomains wish = p.hints.mercutio_domains;
  if (!plan.exchanges()) return "none needed";
  plan.unit_bytes = p.layout.stripe_bytes > 0 ? p.layout.stripe_bytes : p.block_bytes();
  if (p.segmented()) {
    plan.domain_map = DomainMap::kSegments;
    return "each group's own range";
  }
  plan.domain_map = DomainMap::kAligned;
  if (wish == WantedDomains::kEven) plan.domain_map = DomainMap::kEven;
  if (wish == WantedDomains::kStripeCyclic) plan.domain_map = DomainMap::kStripeCyclic;
  if (wish == WantedDomains::kGroupCyclic) plan.domain_map = DomainMap::kGroupCyclic;
  const bool by_strategy = wish == WantedDomains::kAuto && p.hints.mercutio_strategy == WantedStrategy::kDynamicGen2;
  const bool by_layout = wish == WantedDomains::kAuto && p.striped() && p.servers() > 1;
  if (by_strategy || by_layout) plan.domain_map = DomainMap::kStripeCyclic;
  if (plan.domain_map == DomainMap::kStripeCyclic && !p.layout.components.empty()) plan.domain_map = DomainMap::kRangeCyclic;
  if (plan.domain_map == DomainMap::kRangeCyclic) {
    for (const LayoutComponent& part : p.layout.components) plan.unit_bytes = std::max(plan.unit_bytes, part.stripe_bytes);
  }
  if (plan.cyclic() && p.layout.stripe_bytes == 0) plan.unit_bytes = kUnknownStripeBytes;
  if (wish != WantedDomains::kAuto) return "mercutio_domains=" + word_of(wish);
  if (by_layout) {
    const size_t ranges = p.layout.components.size();
    return "the file is striped over " + std::to_string(p.servers()) + " servers" + (ranges > 0 ? ", in " + std::to_string(ranges) + " ways by range" : "");
  }
  if (by_strategy) return "mercutio_strategy=dynamic_gen2";
  return p.striped() ? cost_of_one_stripe(p) : "one server";
}

}  // namespace mercutio::planning

namespace mercutio {

std::optional<Strategy> strategy_named(const Hints& hints) {
  for (const auto& forced : planning::kForced) {
    if (hints.mercutio_strategy == forced.wanted) return forced.strategy;
  }
  return std::nullopt;
}

}  // namespace mercutio
