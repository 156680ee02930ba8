// Exchange and rounds: how data reaches the windows and how large they are. Source of the orders: see order.h.
// O(aggregators).
#include <algorithm>

#include "plan/planner.h"

namespace mercutio::planning {
namespace {

constexpr i64 kStagingBytes = 4 * MiB;           // what all lanes of one side may hold
constexpr i64 kLowestChunkBytes = 16 * KiB;
constexpr i64 kHighestChunkBytes = 1 * MiB;
constexpr i64 kSharedWindowBytes = 512 * KiB;      // stays in a cache between the copy into it and the copy out of it
constexpr i64 kDepth = 2;

struct NamedOrder {
  const char* name;
  ExchangeOrder order;
};
constexpr NamedOrder kOrders[] = {{"normal", ExchangeOrder::kNormal},
                                  {"ring", ExchangeOrder::kRing},
                                  {"nd_shift", ExchangeOrder::kNodeShift},
                                  {"nd_rank_shift", ExchangeOrder::kNodeRankShift}};

std::string choose_kind(Planner& p) {
  const std::string& wish = p.hints.mercutio_exchange;
  const bool possible = p.topology.segment_bytes > 0;
  if (possible && (wish == "auto" || wish == "shared_memory")) p.plan.exchange = ExchangeKind::kSharedMemory;
  if (wish == "shared_memory" && !possible) return "mercutio_exchange=shared_memory, but the ranks share none";
  if (wish != "auto") return "mercutio_exchange=" + wish;
  return possible ? "all ranks share memory" : "staging of " + std::to_string(kStagingBytes / MiB) + " MiB a side";
}

}  // namespace

std::string choose_exchange(Planner& p) {
  Plan& plan = p.plan;
  if (!plan.exchanges()) return "none needed";
  std::string why = choose_kind(p);
  plan.chunk_bytes = std::clamp(kStagingBytes / std::max<i64>(1, p.pattern.ranks), kLowestChunkBytes, kHighestChunkBytes);
  plan.lanes = std::max<i64>(1, kStagingBytes / plan.chunk_bytes);
  plan.order = p.nodes() > 1 ? ExchangeOrder::kNodeRankShift : ExchangeOrder::kRing;
  for (const NamedOrder& named : kOrders) {
    if (p.hints.mercutio_order != named.name) continue;
    plan.order = named.order;
    why += ", mercutio_order=" + p.hints.mercutio_order;
  }
  return why;
}

std::string schedule_rounds(Planner& p) {
  Plan& plan = p.plan;
  if (!plan.exchanges()) return "none needed";
  plan.buffer_bytes = std::max<i64>(1, p.hints.cb_buffer_size);
  if (plan.exchange == ExchangeKind::kSharedMemory) plan.buffer_bytes = std::min(plan.buffer_bytes, kSharedWindowBytes);
  if (plan.cyclic()) plan.buffer_bytes = std::min(plan.buffer_bytes, plan.unit_bytes);
  plan.depth = p.hints.mercutio_depth > 0 ? p.hints.mercutio_depth : kDepth;
  if (plan.unit_bytes > 1 && plan.buffer_bytes > plan.unit_bytes) {
    plan.buffer_bytes = align_down(plan.buffer_bytes, plan.unit_bytes);
  }
  for (i64 i = 0; i < plan.domains(); ++i) plan.rounds = std::max(plan.rounds, plan.windows(i));
  return "cb_buffer_size=" + std::to_string(p.hints.cb_buffer_size) + (plan.cyclic() ? ", a stripe at most" : "") +
         (p.hints.mercutio_depth > 0 ? ", mercutio_depth=" + std::to_string(plan.depth) : "");
}

}  // namespace mercutio::planning
