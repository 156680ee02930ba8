// A plan as a page for people. Prints what is there and decides nothing.
#include <algorithm>
#include <set>

#include "plan/names.h"
#include "plan/plan.h"
#include "plan/schedule.h"

namespace mercutio {
namespace {

std::string number(i64 value) { return std::to_string(value); }

std::string reason(const Plan& plan, const char* pass) {
  for (const Reason& r : plan.reasons) {
    if (r.pass == pass) return "   # " + r.text + "\n";
  }
  return "\n";
}

std::string turns_of(i64 period, i64 cycle) {
  return " in turn among " + number(period) + (cycle > period ? " in cycles of " + number(cycle) : "");
}

std::string explain_domains(const Plan& plan) {
  std::string out = kDomainMapNames[static_cast<int>(plan.domain_map)];
  if (plan.domain_map == DomainMap::kSegments) {
    for (const RankSegment& segment : plan.segments) {
      out += " " + number(segment.first_rank) + "-" + number(segment.end_rank - 1) + ":[" + number(segment.range.begin) + "," +
             number(segment.range.end) + ")";
    }
    return out;
  }
  if (plan.domain_map == DomainMap::kRangeCyclic) {
    for (const CyclicRange& in : plan.ranges) {
      out += " [" + number(in.range.begin) + "," + number(in.range.end) + "): unit " + number(in.unit_bytes) + turns_of(in.period, in.cycle) +
             " from " + number(in.first);
    }
    return out;
  }
  out += ", " + number(plan.domain_bytes) + " bytes from " + number(plan.domain_origin) + ", unit " + number(plan.unit_bytes);
  if (plan.cyclic()) out += "," + turns_of(plan.period, plan.cycle);
  return out;
}

std::string explain_exchange(const Plan& plan) {
  std::string out = std::string(kExchangeNames[static_cast<int>(plan.exchange)]) + ", " + kOrderNames[static_cast<int>(plan.order)];
  return plan.sparse ? out + ", aggregators read what is asked for" : out;
}

// The servers whose stripes an aggregator's first windows meet, as far as they are looked at.
std::string servers_of(const Plan& plan, i64 aggregator, const Layout& layout) {
  constexpr i64 kMostWindows = 1024, kMostStripes = 4096;
  std::set<i64> servers;
  i64 stripes = 0;
  for (i64 round = 0; round < std::min(plan.windows(aggregator), kMostWindows) && stripes < kMostStripes; ++round) {
    const FileRange window = plan.window(aggregator, round);
    for (const StripeRange& range : stripes_of(layout, window.begin, window.end)) {
      for (i64 at = range.begin / range.stripe_bytes; at * range.stripe_bytes < range.end && stripes < kMostStripes; ++at, ++stripes) {
        const i64 known = layout.server_at(std::max(range.begin, at * range.stripe_bytes));
        servers.insert(known >= 0 ? known : at % range.stripe_count);
      }
    }
  }
  std::string out;
  for (const i64 server : servers) out += " " + number(server);
  return out.empty() ? "" : ", servers" + out;
}

}  // namespace

std::string explain_ranks(const Plan& plan, const Topology& topology, const Layout& layout) {
  constexpr i64 kMostLines = 64;
  if (!plan.exchanges()) return "";
  std::string out;
  for (i64 i = 0; i < std::min(plan.domains(), kMostLines); ++i) {
    const i64 rank = plan.aggregators[static_cast<size_t>(i)];
    const FileRange domain = plan.domain(i);
    out += "aggregator " + number(i) + ": rank " + number(rank);
    if (rank < topology.ranks()) out += " on " + topology.node_names[static_cast<size_t>(topology.node_of_rank[static_cast<size_t>(rank)])];
    out += ", [" + number(domain.begin) + ", " + number(domain.end) + "), " + number(plan.windows(i)) + " windows";
    if ((layout.stripe_bytes > 0 && layout.stripe_count > 0) || !layout.components.empty()) out += servers_of(plan, i, layout);
    out += "\n";
  }
  const ExchangeSchedule order(plan, topology);
  for (i64 rank = 0; rank < std::min(topology.ranks(), kMostLines); ++rank) {
    const RankPlace place = place_of(rank, topology);
    out += "rank " + number(rank) + " turns to";
    for (i64 step = 0; step < std::min(plan.domains(), kMostLines); ++step) out += " " + number(order.peer(place, step));
    out += "\n";
  }
  return out;
}

std::string explain(const Plan& plan, const Pattern& pattern) {
  std::string out = std::string(pattern.direction == Direction::kRead ? "read" : "write") + ": " + number(pattern.bytes) +
                    " bytes in [" + number(pattern.begin) + ", " + number(pattern.end) + ") by " +
                    number(pattern.participants) + " of " + number(pattern.ranks) + " ranks, " + number(pattern.contiguous) +
                    " contiguous, " + (pattern.disjoint ? "disjoint" : "interleaved") +
                    (pattern.run_bytes > 0 ? ", runs of " + number(pattern.run_bytes) : "") + ", gaps of " + number(pattern.gap_bytes()) + (pattern.atomic ? ", atomic" : "") + "\n";
  out += std::string("strategy:  ") + kStrategyNames[static_cast<int>(plan.strategy)] + reason(plan, "strategy");
  if (!plan.exchanges()) return out;
  out += std::string("placement: ") + kPlacementNames[static_cast<int>(plan.placement)];
  for (i64 rank : plan.aggregators) out += " " + number(rank);
  out += reason(plan, "placement");
  out += std::string("map:       ") + kDomainMapNames[static_cast<int>(plan.domain_map)] + reason(plan, "map");
  out += "domains:   " + explain_domains(plan) + (plan.lock_ahead ? ", locked ahead" : "") + reason(plan, "domains");
  out += "exchange:  " + explain_exchange(plan) + reason(plan, "exchange");
  out += "rounds:    " + number(plan.rounds) + " of " + number(plan.buffer_bytes) + " bytes, depth " + number(plan.depth);
  if (plan.throttle > 0) out += ", at the storage " + number(plan.throttle) + " of each of " + number(plan.token_rings) + " token rings of aggregators";
  return out + reason(plan, "rounds");
}

}  // namespace mercutio
