// What every plan must keep, whichever passes made it. O(aggregators log aggregators).
#include <set>

#include "plan/node_buffers.h"
#include "plan/plan.h"

namespace mercutio {
namespace {

Error broken(const char* rule) { return Error{ErrorClass::kIntern, std::string("plan: ") + rule}; }

Status verify_aggregators(const Plan& plan, const Pattern& pattern) {
  if (plan.aggregators.empty()) return broken("an exchange needs an aggregator");
  const std::set<i64> distinct(plan.aggregators.begin(), plan.aggregators.end());
  if (distinct.size() != plan.aggregators.size()) return broken("an aggregator owns two domains");
  if (*distinct.begin() < 0 || *distinct.rbegin() >= pattern.ranks) return broken("an aggregator is not a rank");
  return ok_status();
}

Status verify_sizes(const Plan& plan) {
  if (plan.throttle < 0 || plan.token_rings < 1) return broken("there is no token ring");
  if (plan.buffer_bytes < 1 || plan.depth < 1 || plan.unit_bytes < 1) return broken("a size is below 1");
  for (i64 i = 0; i < plan.domains(); ++i) {
    if (plan.windows(i) > plan.rounds) return broken("too few rounds");
  }
  return ok_status();
}

// Blocks follow each other from begin to end, and in each the residues are taken once.
Status verify_blocks(const Plan& plan, const Pattern& pattern) {
  if (!plan.segments.empty()) return broken("segments beside another map");
  if (plan.begin != pattern.begin || plan.end != pattern.end) return broken("domains are not those of the pattern");
  if (plan.period < 1 || plan.domain_bytes < 1 || plan.domains() % plan.period != 0) return broken("blocks of no size");
  if (plan.cycle < plan.period || (plan.cycle > plan.period && plan.domains() > plan.period)) return broken("units in turn in no cycle");
  if (!plan.cyclic() && plan.cycle != 1) return broken("units in turn under a map that has none");
  if (plan.cyclic() && (plan.domain_bytes % plan.unit_bytes != 0 || plan.domain_origin % plan.unit_bytes != 0)) {
    return broken("a unit lies in two blocks");
  }
  if (plan.domain_origin > plan.begin) return broken("domains leave a gap at the start");
  const i64 blocks = plan.domains() / plan.period;
  if (plan.domain_bytes < (plan.end - plan.domain_origin + blocks - 1) / blocks) return broken("domains do not reach the end");
  return ok_status();
}

// Ranges follow each other from begin to end.
Status verify_ranges(const Plan& plan, const Pattern& pattern) {
  if (!plan.segments.empty()) return broken("segments beside another map");
  if (plan.begin != pattern.begin || plan.end != pattern.end) return broken("domains are not those of the pattern");
  i64 at = plan.begin;
  for (const CyclicRange& in : plan.ranges) {
    if (in.range.begin != at || in.range.empty()) return broken("ranges leave a gap or overlap");
    if (in.unit_bytes < 1 || in.unit_bytes > plan.unit_bytes) return broken("a unit of no size, or above the largest");
    if (in.period < 1 || in.period > plan.domains() || in.cycle < in.period || in.first < 0 || in.first >= plan.domains()) return broken("units in turn among none");
    at = in.range.end;
  }
  return at == plan.end ? ok_status() : broken("ranges do not reach the end");
}

// Groups are consecutive ranks, none left out, and the segments of a group tile its range.
Status verify_segments(const Plan& plan, const Pattern& pattern) {
  if (static_cast<i64>(plan.segments.size()) != plan.domains()) return broken("not one segment an aggregator");
  i64 next_rank = 0;
  size_t group = 0;
  for (size_t i = 0; i < plan.segments.size();) {
    const RankSegment& first = plan.segments[i];
    if (first.first_rank != next_rank || first.end_rank <= first.first_rank) return broken("groups leave ranks out");
    next_rank = first.end_rank;
    i64 at = first.range.begin;
    for (; i < plan.segments.size() && plan.segments[i].first_rank == first.first_rank; ++i) {
      const RankSegment& segment = plan.segments[i];
      if (segment.end_rank != first.end_rank) return broken("groups overlap");
      if (segment.range.begin != at || segment.range.end < at) return broken("segments leave a gap or overlap");
      if (plan.aggregators[i] < segment.first_rank || plan.aggregators[i] >= segment.end_rank) {
        return broken("an aggregator is not of its group");
      }
      at = segment.range.end;
    }
    for (; group < pattern.groups.size() && pattern.groups[group].first_rank < next_rank; ++group) {
      if (pattern.groups[group].begin < first.range.begin || pattern.groups[group].end > at) {
        return broken("a group's data lies outside its segments");
      }
      if (pattern.groups[group].end_rank > next_rank) break;   // goes on in the next group
    }
  }
  if (next_rank != pattern.ranks) return broken("groups leave ranks out");
  return ok_status();
}

}  // namespace

Status verify(const Plan& plan, const Pattern& pattern) {
  if (!plan.exchanges()) {
    if (!plan.aggregators.empty()) return broken("individual access has no aggregators");
    return ok_status();
  }
  if (pattern.atomic) return broken("atomic accesses are individual");
  MERCUTIO_TRY(verify_aggregators(plan, pattern));
  const bool segmented = plan.domain_map == DomainMap::kSegments;
  if (segmented == (plan.strategy == Strategy::kTwoPhase)) return broken("strategy and domains do not go together");
  const bool by_range = plan.domain_map == DomainMap::kRangeCyclic;
  if (by_range == plan.ranges.empty()) return broken("ranges beside another map");
  Status tiled = segmented ? verify_segments(plan, pattern) : by_range ? verify_ranges(plan, pattern) : verify_blocks(plan, pattern);
  if (!tiled.ok()) return tiled;
  return verify_sizes(plan);
}

Status verify_room(const Plan& plan, i64 room_bytes) {
  if (!plan.exchanges()) return ok_status();
  if (plan.depth * plan.node_buffers > kMostSlots) return broken("a rank keeps more windows than it has counters for");
  if (plan.depth * plan.node_buffers * plan.buffer_bytes > room_bytes) return broken("the windows that a rank keeps overlap");
  return ok_status();
}

}  // namespace mercutio
