// A plan as a page for people. Prints what is there and decides nothing.
#include "plan/plan.h"

namespace mercutio {
namespace {

constexpr const char* kStrategies[] = {"individual", "list", "sieve", "two_phase", "dynamic", "static", "transpose"};
constexpr const char* kPlacements[] = {"rank_order", "round_robin", "stripe_aware", "cost"};
constexpr const char* kMaps[] = {"even", "aligned", "stripe_cyclic", "group_cyclic", "segments"};
constexpr const char* kExchanges[] = {"messages", "shared_memory"};
constexpr const char* kOrders[] = {"normal", "ring", "nd_shift", "nd_rank_shift"};

std::string number(i64 value) { return std::to_string(value); }

std::string reason(const Plan& plan, const char* pass) {
  for (const Reason& r : plan.reasons) {
    if (r.pass == pass) return "   # " + r.text + "\n";
  }
  return "\n";
}

std::string explain_domains(const Plan& plan) {
  std::string out = kMaps[static_cast<int>(plan.domain_map)];
  if (plan.domain_map == DomainMap::kSegments) {
    for (const RankSegment& segment : plan.segments) {
      out += " " + number(segment.first_rank) + "-" + number(segment.end_rank - 1) + ":[" + number(segment.range.begin) + "," +
             number(segment.range.end) + ")";
    }
    return out;
  }
  out += ", " + number(plan.domain_bytes) + " bytes from " + number(plan.domain_origin) + ", unit " + number(plan.unit_bytes);
  if (plan.cyclic()) out += ", in turn among " + number(plan.period);
  return out;
}

std::string explain_exchange(const Plan& plan) {
  std::string out = kExchanges[static_cast<int>(plan.exchange)];
  if (plan.exchange != ExchangeKind::kSharedMemory) {
    out += std::string(", ") + kOrders[static_cast<int>(plan.order)] + ", chunks of " + number(plan.chunk_bytes) + " bytes, " +
           number(plan.lanes) + " lanes";
  }
  return out;
}

}  // namespace

std::string explain(const Plan& plan, const Pattern& pattern) {
  std::string out = std::string(pattern.direction == Direction::kRead ? "read" : "write") + ": " + number(pattern.bytes) +
                    " bytes in [" + number(pattern.begin) + ", " + number(pattern.end) + ") by " +
                    number(pattern.participants) + " of " + number(pattern.ranks) + " ranks, " + number(pattern.contiguous) +
                    " contiguous, " + (pattern.disjoint ? "disjoint" : "interleaved") + (pattern.atomic ? ", atomic" : "") + "\n";
  out += std::string("strategy:  ") + kStrategies[static_cast<int>(plan.strategy)] + reason(plan, "strategy");
  if (!plan.exchanges()) return out;
  out += std::string("placement: ") + kPlacements[static_cast<int>(plan.placement)];
  for (i64 rank : plan.aggregators) out += " " + number(rank);
  out += reason(plan, "placement");
  out += std::string("map:       ") + kMaps[static_cast<int>(plan.domain_map)] + reason(plan, "map");
  out += "domains:   " + explain_domains(plan) + reason(plan, "domains");
  out += "exchange:  " + explain_exchange(plan) + reason(plan, "exchange");
  out += "rounds:    " + number(plan.rounds) + " of " + number(plan.buffer_bytes) + " bytes, depth " + number(plan.depth);
  return out + reason(plan, "rounds");
}

}  // namespace mercutio
