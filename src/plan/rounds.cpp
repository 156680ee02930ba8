// Exchange and rounds: how data reaches the windows and how large they are. Source of the orders: see schedule.h.
// O(aggregators).
#include <algorithm>

#include "plan/node_buffers.h"
#include "plan/node_layout.h"
#include "plan/planner.h"

namespace mercutio::planning {
namespace {

constexpr i64 kSharedWindowBytes = 512 * KiB;      // stays in a cache between the copy into it and the copy out of it
constexpr i64 kLargestWindowBytes = 2 * MiB;
constexpr i64 kLowestWindowBytes = 64 * KiB;
constexpr i64 kMostRoomBytes = 8 * MiB;            // for the windows that a rank keeps
constexpr i64 kDepth = 2;
constexpr i64 kLargestParcelBytes = 256 * KiB;
constexpr i64 kParcelMemoryBytes = 4 * MiB;        // of an aggregator, which has a parcel of each stream; the reserve holds them
constexpr i64 kMessageWindowBytes = 4 * MiB;       // of a rank that is a node of its own; what a stream holds of one fits a block of the reserve

ExchangeOrder order_for(WantedOrder wanted, i64 nodes) {
  switch (wanted) {
    case WantedOrder::kAuto: break;
    case WantedOrder::kNormal: return ExchangeOrder::kNormal;
    case WantedOrder::kRing: return ExchangeOrder::kRing;
    case WantedOrder::kNodeShift: return ExchangeOrder::kNodeShift;
    case WantedOrder::kNodeRankShift: return ExchangeOrder::kNodeRankShift;
  }
  return nodes > 1 ? ExchangeOrder::kNodeRankShift : ExchangeOrder::kRing;
}

i64 room_of(const Planner& p) { return std::min(kMostRoomBytes, window_room(p.topology)); }

i64 most_useful_buffers(const Planner& p) { return room_of(p) / (kDepth * kLowestWindowBytes); }   // of a rank

// Through the memory of the nodes, where ranks share one and windows of a useful size fit; the hint can forbid it, and
// with several nodes ask for it where it would not pay: with hardly more ranks than nodes nothing is merged.
std::string choose_kind(Planner& p) {
  const WantedExchange wish = p.hints.mercutio_exchange;
  const bool asked = wish != WantedExchange::kAuto;
  const bool one_node = p.nodes() == 1, shared = p.topology.segment_bytes > 0;
  const ExchangeKind best = one_node ? ExchangeKind::kSharedMemory : ExchangeKind::kTwoLayer;
  const bool fits = most_node_buffers(p.plan.aggregators, p.topology) <= most_useful_buffers(p);
  if (wish == WantedExchange::kMessages) return "mercutio_exchange=messages";
  if (asked && !shared) return "mercutio_exchange=" + word_of(wish) + ", but there is no memory to share";
  if (asked && !fits) return "mercutio_exchange=" + word_of(wish) + ", but windows would be too small in the memory of the nodes";
  if (!shared) return "no ranks share memory";
  if (!fits) return "windows would be too small in the memory of the nodes";
  if (!p.may_merge_on_nodes()) return "hardly more ranks than nodes";
  p.plan.exchange = best;
  return asked ? "mercutio_exchange=" + word_of(wish) : one_node ? "all ranks share memory" : "the ranks of each node share memory";
}

// Runs so far apart that holes between them are better left out: that a page or more is read for nothing with each. To say first what
// is asked for costs less.
bool reads_sparsely(const Planner& p) {
  const Pattern& pattern = p.pattern;
  const double holes = static_cast<double>(pattern.gap_bytes()) * static_cast<double>(pattern.run_bytes);
  return pattern.direction == Direction::kRead && holes >= static_cast<double>(kPageBytes) * static_cast<double>(pattern.bytes);
}

}  // namespace

i64 most_with_node_buffers(const Planner& p) {
  if (p.nodes() == 1 || !p.may_merge_on_nodes()) return 0;
  std::vector<i64> members(static_cast<size_t>(p.nodes()), 0);
  for (const i64 node : p.topology.node_of_rank) ++members[static_cast<size_t>(node)];
  i64 fewest = p.topology.ranks();
  for (const i64 count : members) fewest = count > 0 ? std::min(fewest, count) : fewest;
  return std::max<i64>(0, most_useful_buffers(p) - 1) * fewest;
}

std::string choose_exchange(Planner& p) {
  Plan& plan = p.plan;
  if (!plan.exchanges()) return "none needed";
  std::string why = choose_kind(p);
  plan.sparse = reads_sparsely(p);
  plan.order = order_for(p.hints.mercutio_order, p.nodes());
  if (p.hints.mercutio_order != WantedOrder::kAuto) why += ", mercutio_order=" + word_of(p.hints.mercutio_order);
  return why;
}

namespace {

// Aggregators whose numbers are equal modulo the servers share one of them; where domains don't follow the stripes, all
// share all.
std::string limit_requests(Planner& p) {
  Plan& plan = p.plan;
  const i64 limit = p.hints.mercutio_throttle, servers = p.layout.stripe_count;
  if (limit == 0) return "";
  plan.throttle = limit;
  if (plan.cyclic() && p.striped() && plan.period % servers == 0) {
    plan.token_rings = servers;
  } else if (plan.cyclic() && p.striped() && servers % plan.cycle == 0) {
    plan.token_rings = plan.domains();
  } else if (p.striped()) {
    plan.throttle = limit * servers;
  }
  return ", mercutio_throttle=" + std::to_string(limit);
}

}  // namespace

std::string schedule_rounds(Planner& p) {
  Plan& plan = p.plan;
  if (!plan.exchanges()) return "none needed";
  plan.buffer_bytes = std::max<i64>(1, p.hints.cb_buffer_size);
  plan.depth = p.hints.mercutio_depth > 0 ? p.hints.mercutio_depth : kDepth;
  if (plan.exchange == ExchangeKind::kMessages) {
    plan.depth = std::min(plan.depth, kMostSlots);
    plan.buffer_bytes = std::min({plan.buffer_bytes, kMessageWindowBytes, std::max(kPageBytes, align_down(kPrivateWindowRoom / plan.depth, kPageBytes))});
  } else {
    plan.node_buffers = most_node_buffers(plan.aggregators, p.topology);
    const i64 all_room = room_of(p);
    plan.depth = std::clamp<i64>(std::min(kMostSlots, all_room / kPageBytes) / plan.node_buffers, 1, plan.depth);
    const i64 largest = p.nodes() > 1 ? kLargestWindowBytes : kSharedWindowBytes;
    const i64 stripe = std::min(p.layout.stripe_bytes, kLargestWindowBytes);   // a request to a server is not to be cut up
    const i64 room = align_down(all_room / (plan.depth * plan.node_buffers), kPageBytes);
    plan.buffer_bytes = std::min({plan.buffer_bytes, std::max(largest, stripe), std::max(kPageBytes, room)});
  }
  const i64 streams = std::max<i64>(1, plan.exchange == ExchangeKind::kMessages ? p.topology.ranks() : p.nodes());
  plan.parcel_bytes = std::min(align_down(kParcelMemoryBytes / streams, kPageBytes), kLargestParcelBytes);   // 0: more nodes than pages
  if (p.hints.mercutio_parcel_bytes > 0) plan.parcel_bytes = std::min(plan.parcel_bytes, p.hints.mercutio_parcel_bytes);
  if (plan.cyclic()) plan.buffer_bytes = std::min(plan.buffer_bytes, plan.unit_bytes);
  if (plan.unit_bytes > 1 && plan.buffer_bytes > plan.unit_bytes) {
    plan.buffer_bytes = align_down(plan.buffer_bytes, plan.unit_bytes);
  }
  // Of small windows more, or ranks would wait for each other at each few bytes.
  if (p.hints.mercutio_depth == 0) plan.depth = std::clamp(ceil_div(kLowestWindowBytes, plan.buffer_bytes), plan.depth, std::max(plan.depth, kMostSlots / plan.node_buffers));
  for (i64 i = 0; i < plan.domains(); ++i) plan.rounds = std::max(plan.rounds, plan.windows(i));
  return "cb_buffer_size=" + std::to_string(p.hints.cb_buffer_size) + (plan.cyclic() ? ", a stripe at most" : "") +
         (p.hints.mercutio_depth > 0 ? ", mercutio_depth=" + std::to_string(plan.depth) : "") + limit_requests(p);
}

}  // namespace mercutio::planning
