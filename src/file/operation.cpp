// The body of every data access: moves the data, directly or staged.
//
// Ordered mode: a gather of the sizes, one fetch-and-add by rank 0, one broadcast; then a collective access at the computed
// places, so the data moves in parallel. Where all views are contiguous the shares lie one behind the other: each rank moves
// its own without another gather.
#include "file/operation.h"

#include <cstdint>
#include <utility>

#include "base/attempt.h"
#include "base/borrowed.h"
#include "engine/agreement/messages.h"
#include "file/wire.h"

namespace mercutio {
namespace {

// Shares that are moved alone end below so many etypes of a moderate size, so that none of them can be out of reach
// (check_reach) when others are not.
constexpr i64 kPlainReach = i64{1} << 40, kPlainEtypeBytes = MiB, kPlainDisplacement = i64{1} << 60;

// What a rank says of its share of an ordered access.
struct OrderedShare {
  i64 refused = 0;   // the access fails on all ranks, and the shared file pointer stays
  i64 etypes = 0;
  i64 plain = 0;   // moved alone: the view is contiguous, and neither atomic mode nor a hint asks for more
};

OrderedShare share_of(const Operation& operation) {
  if (!operation.entry) return {.refused = 1};
  const Hints& hints = operation.hints->values;
  const FileView& view = *operation.view;
  const bool near = view.etype_bytes() <= kPlainEtypeBytes && view.view->displacement <= kPlainDisplacement;
  const bool plain = near && view.view->contiguous() && !operation.staged() && !operation.atomic &&
                     hints.buffering(operation.direction) != Toggle::kEnable && hints.mercutio_strategy == WantedStrategy::kAuto;
  return {0, operation.etypes, plain ? 1 : 0};
}

}  // namespace

Task<Status> place_ordered(Operation& operation) {
  operation.counters.clock.enter(Phase::kArrive);
  const OrderedShare mine = share_of(operation);
  std::vector<OrderedShare> shares(static_cast<size_t>(operation.channel.comm->size()));
  MERCUTIO_CO_TRY(co_await all_gather(operation.channel, const_bytes_of(std::span(&mine, 1)), bytes_of(std::span(shares))));
  i64 before = 0, total = 0;
  bool plain = true, too_large = false, refused = false;
  for (size_t rank = 0; rank < shares.size(); ++rank) {
    if (static_cast<i64>(rank) == operation.channel.comm->rank()) before = total;
    too_large |= shares[rank].etypes < 0 || __builtin_add_overflow(total, shares[rank].etypes, &total);
    plain &= shares[rank].plain != 0;
    refused |= shares[rank].refused != 0;
  }
  if (refused) {
    before = total = 0;
    too_large = false;
  }
  std::vector<std::byte> message;
  Status counted = ok_status();
  if (operation.channel.comm->rank() == 0) {
    Result<i64> base = too_large ? Result<i64>(i64{0}) : operation.counter->fetch_add(total);
    if (!base) counted = base.error();
    if (base && *base < 0) base = INT64_MAX;   // another thread has asked for a place that no file has, and will give it back
    if (i64 end = 0; base && __builtin_add_overflow(*base, total, &end)) (void)operation.counter->fetch_add(-total);
    WireWriter writer;
    writer.put(base ? *base : i64{-1});
    message = writer.take();
  }
  if (Status told = co_await broadcast(operation.channel, 0, message); !told) co_return told.error();
  const i64 base = WireReader(message).number();
  if (!counted) co_return counted.error();
  if (base < 0) co_return Error{ErrorClass::kOther, "rank 0 could not move the shared file pointer"};
  i64 end = 0;
  if (too_large || __builtin_add_overflow(base, total, &end))
    co_return Error{ErrorClass::kArg, "the accesses of the ranks are too large together"};
  operation.first_etype = base + before;
  operation.individual = plain && end < kPlainReach;
  co_return check_reach(operation);
}

Status check_reach(Operation& operation) {
  const FileView& view = *operation.view;
  i64 end = 0;
  const bool overflow = operation.first_etype < 0 || __builtin_mul_overflow(operation.first_etype, view.etype_bytes(), &end) ||
                        __builtin_add_overflow(end, operation.file_bytes, &end);
  const auto fits = [&] { return end <= view.view->filetype->stream_bytes() && view.view->range_of(end - operation.file_bytes, end).end <= kMostFileBytes; };
  if (!overflow && (operation.file_bytes == 0 || fits())) return ok_status();
  const i64 asked = std::exchange(operation.first_etype, 0);
  return Error{ErrorClass::kArg, "the access reaches beyond what a file can have, from the offset " + std::to_string(asked) + " of its view"};
}

Access access_of(const Operation& operation) {
  Access access;
  access.direction = operation.direction;
  access.view = borrowed(operation.view->view);
  access.position = operation.first_etype * operation.view->etype_bytes();
  if (operation.entry) {
    access.bytes = operation.file_bytes;
    access.memory = Memory{operation.memory.base, borrowed(operation.memory.type), operation.memory.count};
  }
  return access;
}

Result<i64> move_alone(Operation& operation) {
  MERCUTIO_TRY(operation.entry);
  if (operation.staged()) return move_staged(operation);
  if (operation.file_bytes == 0) return i64{0};
  Result<i64> moved = independent(operation.engine, access_of(operation), operation.atomic ? Locking::kTake : Locking::kNone);
  if (moved) operation.file_bytes_moved = *moved;
  return moved;
}

Result<i64> perform_alone(Operation& operation) {
  Result<i64> moved = move_alone(operation);
  IndependentAccesses::of_process().note();
  return moved;
}

static Task<Result<i64>> perform_alone_later(std::shared_ptr<Operation> operation) { co_return perform_alone(*operation); }

Task<Result<i64>> perform(std::shared_ptr<Operation> operation) {
  return operation->collective ? move_together(std::move(operation)) : perform_alone_later(std::move(operation));
}

// Aggregators move the bytes of all ranks. What this rank has kept of its own earlier writes must be in the file before them, and what
// it has read in advance meanwhile is of no use behind them.
static bool is_past_buffer(const Operation& operation) { return operation.buffer != operation.engine.storage; }

void begin_together(Operation& operation) {
  if (!is_past_buffer(operation) && operation.engine.comm->size() == 1) return;
  Status written = attempt([&] { return operation.buffer->flush(); });
  if (operation.entry) operation.entry = std::move(written);
}

Result<i64> end_together(Operation& operation, Result<i64> moved) {
  if (operation.engine.comm->size() == 1) IndependentAccesses::of_process().note();
  const Status kept = is_past_buffer(operation) ? attempt([&] { return operation.buffer->flush(); }) : ok_status();   // meanwhile, by other threads
  if (!moved) return std::move(moved).error().of_nothing_moved();   // aggregators know of the file's bytes, not of each rank's
  if (!kept) return kept.error();
  return moved;
}

}  // namespace mercutio
