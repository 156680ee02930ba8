// The cost of a two-phase access as a function of the number of aggregators: what the exchange takes (network, copies,
// messages), what the storage takes, and what of the two overlaps when there are two windows in flight. Figures that
// the machine does not tell are those of a plain cluster. O(log ranks).
//
// Network: what crosses between nodes comes in through the links of the nodes that have an aggregator. Copies: every rank
// packs, and without shared memory every aggregator unpacks. Messages: those an aggregator and a rank handle in a round.
// Storage: as many servers work as aggregators reach; and one process has a start-up that is nine tenths overcome at the
// saturation point. Overlap: the smaller of exchange and storage hides behind the larger, but for the first round.
#include <algorithm>
#include <cstdio>

#include "plan/planner.h"

namespace mercutio::planning {
namespace {

constexpr double kMegabyte = 1e6;
constexpr double kMessageSeconds = 5e-6;
constexpr double kLinkMegabytes = 1000, kMemoryMegabytes = 4000, kServerMegabytes = 1000;
constexpr double kWorthwhile = 0.97;   // more aggregators must be better by 3 %
constexpr double kStartup = 1.0 / 9;   // of the saturation point: b / (b + k/9) is 0.9 at b = k

double or_default(i64 value, double otherwise) { return value > 0 ? static_cast<double>(value) : otherwise; }

}  // namespace

double Cost::total() const {
  if (!overlapped) return exchange() + storage;
  return std::max(exchange(), storage) + std::min(exchange(), storage) / rounds;
}

Cost cost_of(const Planner& p, i64 aggregators) {
  const double bytes = static_cast<double>(p.pattern.bytes), count = static_cast<double>(aggregators);
  const double nodes = static_cast<double>(p.nodes()), ranks = static_cast<double>(p.pattern.ranks);
  const double link = or_default(p.topology.link_mb_per_s, kLinkMegabytes) * kMegabyte;
  const double memory = or_default(p.topology.memory_mb_per_s, kMemoryMegabytes) * kMegabyte;
  const double server = or_default(p.layout.server_mb_per_s, kServerMegabytes) * kMegabyte;
  const double servers = or_default(p.layout.stripe_count, nodes * static_cast<double>(p.per_node()));
  Cost cost;
  cost.rounds = std::max(1.0, bytes / count / static_cast<double>(p.hints.cb_buffer_size));
  cost.overlapped = p.hints.mercutio_depth != 1;
  cost.network = bytes * (1 - 1 / nodes) / (std::min(count, nodes) * link);
  cost.copies = bytes / (ranks * memory);
  if (!p.shares_memory()) {
    cost.copies += bytes / (count * memory);
    cost.messages = cost.rounds * (ranks + count) * kMessageSeconds;
  }
  const double startup = static_cast<double>(p.hints.mercutio_saturation_bytes) * kStartup;
  cost.storage = std::max(bytes / (std::min(count, servers) * server), (bytes / count + startup) / server);
  return cost;
}

i64 cheapest_count(const Planner& p, i64 most) {
  i64 best = 1;
  double lowest = cost_of(p, 1).total();
  for (i64 count = 2; count / 2 < most; count *= 2) {
    const double cost = cost_of(p, std::min(count, most)).total();
    if (cost > lowest * kWorthwhile) continue;
    lowest = cost;
    best = std::min(count, most);
  }
  return best;
}

std::string cost_text(const Cost& cost) {
  char text[160];
  std::snprintf(text, sizeof text, "network %.3f ms, copies %.3f ms, messages %.3f ms, storage %.3f ms, %s %.3f ms", cost.network * 1e3,
                cost.copies * 1e3, cost.messages * 1e3, cost.storage * 1e3, cost.overlapped ? "overlapped" : "one after the other",
                cost.total() * 1e3);
  return text;
}

}  // namespace mercutio::planning
