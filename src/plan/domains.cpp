// The file divided among the aggregators. Sources: even, aligned, static-cyclic and group-cyclic domains as in Liao and
// Choudhary (2008); the cyclic map with about S/A servers an aggregator is that of Dickens and Logan (Y-lib, 2010). Reads and
// writes alike. O(aggregators) for segments, O(1) otherwise.
#include <algorithm>

#include "plan/planner.h"

namespace mercutio::planning {
namespace {

std::string divide_into_segments(Planner& p) {
  Plan& plan = p.plan;
  const bool all_write = plan.strategy == Strategy::kRowTransposition;
  for (const RankRow& group : p.groups) {
    const i64 parts = all_write ? group.ranks() : 1;
    const i64 share = parts == 1 ? group.end - group.begin
                                 : align_up(ceil_div(group.end - group.begin, parts), std::min(plan.unit_bytes, kPageBytes));
    for (i64 part = 0; part < parts; ++part) {
      FileRange range{std::min(group.end, group.begin + part * share), std::min(group.end, group.begin + (part + 1) * share)};
      plan.segments.push_back(RankSegment{group.first_rank, group.end_rank, range});
    }
  }
  return all_write ? "a share of its row's range for every rank" : "the range of each group";
}

// The units after which aggregators begin anew, so that each server meets one of them, or, if there are more of them than servers, the same ones.
i64 cycle_of(i64 servers, i64 period) { return servers % period == 0 || period > servers ? period : servers; }

// How many servers an aggregator has.
std::string share_of(i64 servers, i64 aggregators) {
  const i64 least = servers / aggregators;
  return std::to_string(least) + (servers % aggregators > 0 ? " or " + std::to_string(least + 1) : "") + " of " + std::to_string(servers);
}

// By the layout's ranges, with as many aggregators in each as share its servers almost evenly; the next range begins with those that
// had no turn in the last one.
std::string divide_by_range(Planner& p) {
  Plan& plan = p.plan;
  i64 first = 0;
  std::string each;
  for (const LayoutComponent& part : p.layout.components) {
    const FileRange range{std::max(plan.begin, part.begin), std::min(plan.end, part.end)};
    if (range.empty()) continue;
    const i64 period = even_count(part.stripe_count, plan.domains());
    plan.ranges.push_back({range, part.stripe_bytes, period, cycle_of(part.stripe_count, period), first});
    first = (first + period) % plan.domains();
    each += (each.empty() ? "" : ", then ") + share_of(part.stripe_count, period);
  }
  return each + " servers each";
}

std::string divide_cyclically(Planner& p) {
  Plan& plan = p.plan;
  const i64 servers = p.striped() ? p.layout.stripe_count : plan.domains();
  const bool groups = plan.domain_map == DomainMap::kGroupCyclic && plan.domains() % servers == 0 && plan.domains() > servers;
  plan.period = groups ? servers : plan.domains();
  plan.cycle = cycle_of(servers, plan.period);
  plan.domain_origin = align_down(plan.begin, plan.unit_bytes);
  plan.domain_bytes = align_up(ceil_div(plan.end - plan.domain_origin, plan.domains() / plan.period), plan.unit_bytes);
  std::string each = p.striped() && plan.period <= servers ? share_of(servers, plan.period) + " servers each" : "";
  if (p.striped() && plan.period > servers) each = std::to_string(plan.period / servers) + " aggregators a server";
  if (each.empty()) each = "servers unknown";
  return (groups ? std::to_string(plan.domains() / plan.period) + " blocks, " : std::string()) + each;
}

// Whether the part of the file on some server is written by several aggregators, so that their locks there would grow into each other.
// Locks of storage without stripes may do so, too.
bool shares_servers(const Planner& p) {
  if (p.plan.domains() < 2 || p.plan.domain_map == DomainMap::kRangeCyclic) return false;
  return !p.plan.cyclic() || !p.striped() || p.plan.domains() > p.layout.stripe_count;
}

bool locks_ahead(const Planner& p) {
  const Toggle wish = p.hints.mercutio_lock_ahead;
  const bool in_turn = p.plan.cyclic() && p.striped();   // where romio_lustre_co_ratio lets aggregators share a server
  return p.pattern.direction == Direction::kWrite && shares_servers(p) && (wish == Toggle::kEnable || (wish == Toggle::kAutomatic && in_turn));
}

std::string divide(Planner& p);

}  // namespace

std::string divide_file(Planner& p) {
  if (!p.plan.exchanges()) return "none needed";
  const std::string why = divide(p);
  p.plan.lock_ahead = locks_ahead(p);
  return why;
}

namespace {

std::string divide(Planner& p) {
  Plan& plan = p.plan;
  plan.begin = p.pattern.begin;
  plan.end = p.pattern.end;
  if (p.segmented()) return divide_into_segments(p);
  if (plan.domain_map == DomainMap::kRangeCyclic) return divide_by_range(p);
  if (plan.cyclic()) return divide_cyclically(p);
  const i64 share = std::max(ceil_div(plan.end - plan.begin, plan.domains()), p.hints.romio_min_fdomain_size);
  if (!p.striped() && share < plan.unit_bytes) plan.unit_bytes = kPageBytes;   // a share holds no block
  if (plan.domain_map == DomainMap::kEven || share < plan.unit_bytes) {
    const bool asked = plan.domain_map == DomainMap::kEven;
    plan.unit_bytes = 1;
    plan.domain_map = DomainMap::kEven;
    plan.domain_origin = plan.begin;
    plan.domain_bytes = share;
    return asked ? "equal shares" : "a share is smaller than a unit";
  }
  plan.domain_origin = align_down(plan.begin, plan.unit_bytes);
  plan.domain_bytes = std::max(ceil_div(plan.end - plan.domain_origin, plan.domains()), p.hints.romio_min_fdomain_size);
  plan.domain_bytes = align_up(plan.domain_bytes, plan.unit_bytes);
  return std::string("borders on ") + (p.striped() ? "stripes" : plan.unit_bytes > kPageBytes ? "blocks" : "pages");
}

}  // namespace
}  // namespace mercutio::planning
