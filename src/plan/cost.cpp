// The cost of a two-phase access as a function of the number of aggregators: what the exchange takes (network, copies,
// messages), what the storage takes, and what of the two overlaps when there are two windows in flight. Figures that
// the machine does not tell are those of a plain cluster. O(log ranks).
#include <algorithm>

#include "plan/planner.h"

namespace mercutio::planning {
namespace {

constexpr double kMegabyte = 1e6;
constexpr double kMessageSeconds = 5e-6;
constexpr double kLinkMegabytes = 1000, kMemoryMegabytes = 4000, kServerMegabytes = 1000;
constexpr double kWorthwhile = 0.97;   // more aggregators must be better by 3 %

double or_default(i64 value, double otherwise) { return value > 0 ? static_cast<double>(value) : otherwise; }

}  // namespace

double cost_seconds(const Planner& p, i64 aggregators) {
  const double bytes = static_cast<double>(p.pattern.bytes), count = static_cast<double>(aggregators);
  const double nodes = static_cast<double>(p.nodes()), ranks = static_cast<double>(p.pattern.ranks);
  const double busy_nodes = std::min(count, nodes);
  const double rounds = std::max(1.0, bytes / count / static_cast<double>(p.hints.cb_buffer_size));
  const double crossing = bytes * (1 - 1 / nodes);
  const double network = crossing / (busy_nodes * or_default(p.topology.link_mb_per_s, kLinkMegabytes) * kMegabyte);
  const double copies = 2 * bytes / (count * or_default(p.topology.memory_mb_per_s, kMemoryMegabytes) * kMegabyte);
  const double messages = rounds * (ranks / std::max(1.0, ranks / nodes) + count) * kMessageSeconds;
  const double servers = p.layout.stripe_count > 0 ? static_cast<double>(p.layout.stripe_count) : nodes * kAggregatorsPerNode;
  const double storage = bytes / (std::min(count, servers) * or_default(p.layout.server_mb_per_s, kServerMegabytes) * kMegabyte);
  const double exchange = network + copies + messages;
  if (p.hints.mercutio_depth == 1) return exchange + storage;
  return std::max(exchange, storage) + std::min(exchange, storage) / rounds;
}

i64 cheapest_count(const Planner& p, i64 most) {
  i64 best = 1;
  double lowest = cost_seconds(p, 1);
  for (i64 count = 2; count / 2 < most; count *= 2) {
    const double cost = cost_seconds(p, std::min(count, most));
    if (cost > lowest * kWorthwhile) continue;
    lowest = cost;
    best = std::min(count, most);
  }
  return best;
}

}  // namespace mercutio::planning
