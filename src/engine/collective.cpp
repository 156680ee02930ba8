// The body of every collective access: enter (engine/enter.h), plan, move, agree. A rank needs no other rank's view, because each moves its own bytes.
#include <algorithm>
#include <memory>
#include <optional>

#include "base/assert.h"
#include "base/attempt.h"
#include "engine/enter.h"
#include "engine/agreement/messages.h"
#include "engine/node_entry.h"
#include "engine/io/pieces.h"
#include "engine/window/exchange.h"
#include "engine/runs.h"
#include "plan/adapter.h"

namespace mercutio {
namespace {

// Excludes data beyond the end of the file, so that part of the user's buffer stays unchanged.
void clip_to_file(RankAccess& peer, i64 file_bytes) {
  if (peer.end <= peer.begin || peer.last <= file_bytes) return;
  peer.end = std::clamp(peer.view->stream_position(file_bytes), peer.begin, peer.end);
  peer.last = file_bytes;
}

// Flushes the aggregator's cache after a write: later writes of these bytes by other ranks must reach the file after it.
Status flush_after_write(const EngineFile& file, const Access& access, Status stored) {
  if (access.reads()) return stored;
  Status written = attempt([&] { return file.storage->flush(); });
  return stored ? std::move(written) : std::move(stored);
}

// What the last agreement of an access finds: the lowest of a value of the ranks and, if the adapter asks for it, the time that the access took.
class LastAgreement {
 public:
  LastAgreement(const EngineFile& file, i64 value) : adapter_(file.adapter && file.adapter->measures() ? file.adapter : nullptr), values_{value} {
    if (adapter_) adapter_->stop(std::span(values_).last<2>());
  }
  std::span<i64> values() { return std::span(values_).first(adapter_ ? 3 : 1); }
  i64 lowest() const { return values_[0]; }
  void succeeded() const {
    if (adapter_) adapter_->saw(std::span(values_).last<2>());
  }

 private:
  Adapter* const adapter_;
  i64 values_[3];
};

// The memory of the windows of an access: the arena of the node, or, if every rank is a node of its own, the private arena of this rank. The access makes
// that if there is none, and owns it if it has no ticket: of a file of one rank.
Task<Status> find_memory(const Channel& channel, const Plan& plan, std::shared_ptr<NodeArena>& memory) {
  if (channel.ticket) {
    co_await until([&] { return channel.ticket->is_current(); });
    NodeArena& shared = channel.ticket->arena();
    memory = {std::shared_ptr<void>(), plan.exchange == ExchangeKind::kMessages ? shared.private_part() : &shared};   // not owned
  }
  if (!memory) {   // the same on all ranks
    Status made = attempt([&]() -> Status {
      MERCUTIO_LET(memory, NodeArena::make_private(*channel.comm));
      return ok_status();
    });
    MERCUTIO_CO_TRY(co_await agree(channel, std::move(made)));
    if (channel.ticket) channel.ticket->arena().set_private_part(memory);
  }
  co_return verify_room(plan, memory->room_bytes());   // the same on all ranks
}

RankAccess part_of(const Access& access, const RankSummary& summary) {
  if (summary.bytes <= 0) return {.direction = access.direction};
  return {access.view.get(), access.position, access.position + summary.bytes, summary.first, summary.last, &access.memory, access.direction};
}

Task<Result<i64>> exchange_and_agree(const EngineFile& file, const Channel& channel, const Access& access, const Agreed& agreed) {
  RankAccess mine = part_of(access, agreed.mine);
  if (access.reads() && agreed.file_bytes >= 0) clip_to_file(mine, agreed.file_bytes);
  channel.counters->clock.enter(Phase::kWait);
  std::shared_ptr<NodeArena> memory;
  MERCUTIO_CO_TRY(co_await find_memory(channel, *agreed.plan, memory));
  const i64 start = file.trace ? now_ns() : 0;
  const Outcome outcome = co_await exchange(file, channel, *memory, agreed, mine);
  record(file, TraceKind::kExchange, start, mine.end - mine.begin, mine.first);
  if (!outcome.messages) co_return outcome.messages.error();
  channel.counters->clock.enter(Phase::kAgree);
  Status stored = flush_after_write(file, access, outcome.storage);
  // Of reading, where the file ends; of writing, whether no window has a hole.
  LastAgreement last(file, access.reads() ? outcome.end_of_file : i64{!outcome.holes});
  MERCUTIO_CO_TRY(co_await agree(channel, std::move(stored), last.values()));
  last.succeeded();
  if (access.reads()) {
    clip_to_file(mine, last.lowest());
  } else if (agreed.dense_key != 0 && last.lowest() == 1) {
    file.patterns->learn_dense(agreed.dense_key);
  }
  co_return mine.end - mine.begin;
}

// Some rank takes part with an Error. No rank goes on to move data, and all return that Error.
Task<Result<i64>> fail_together(const Channel& channel, Status mine) {
  Status why = co_await agree(channel, std::move(mine));
  if (!why.ok()) co_return std::move(why).error();
  co_return Error{ErrorClass::kIntern, "ranks disagree on whether one of them failed"};
}

// What the ranks do unless they move runs: each knows the plan before it moves data, or after it has moved its own early.
Task<Result<i64>> enter_and_move(EngineFile file, Channel channel, const Access& access, CollectiveOptions& options) {
  MERCUTIO_ASSERT(channel.ticket || channel.comm->size() == 1);
  Counters here;   // used if the caller does not count
  if (!file.counters) file.counters = &here;
  Counters& counters = *file.counters;
  channel.counters = &counters;
  Agreed agreed;
  agreed.atomic = options.atomic;
  Result<i64> moved = i64{0};
  if (!options.individual) {
    counters.clock.enter(Phase::kArrive);
    if (Status entered = co_await enter(file, channel, access, options, agreed); !entered) moved = std::move(entered).error();
    counters.clock.enter(Phase::kOwn);
    if (moved && options.more) *options.more = agreed.more;
  }
  if (!moved) {
    // without communication the other ranks cannot be informed
  } else if (agreed.moved) {
    moved = *agreed.moved;
  } else if (agreed.failed) {
    moved = co_await fail_together(channel, options.entry);
  } else if (agreed.plan && agreed.plan->exchanges()) {
    if (!channel.ticket) file.run_lists = nullptr;   // one rank sends none, and its operations may go on at the same time
    moved = co_await exchange_and_agree(file, channel, access, agreed);
  } else {
    moved = move_own(file, access, agreed.plan.get(), agreed.atomic);
    Status status = std::move(options.entry);   // not a conditional inside the co_await: g++ 12 evaluates both arms there
    if (!moved) status = moved.error();
    counters.clock.enter(Phase::kAgree);
    LastAgreement last(file, 0);
    if (Status all = co_await agree(channel, std::move(status), last.values()); !all) moved = std::move(all).error();
    if (moved) last.succeeded();
  }
  if (file.adapter && !moved) file.adapter->end();
  co_return moved;
}

}  // namespace

// A task of its own, so that an access that is moved as runs touches little memory: where many ranks share a core, it is cold.
Task<Result<i64>> collective(EngineFile file, Channel channel, Access access, CollectiveOptions options) {
  const i64 start = file.trace ? now_ns() : 0;
  std::optional<Result<i64>> moved;
  if (!options.individual && may_move_runs(file, channel)) {
    if (file.counters) file.counters->clock.enter(Phase::kArrive);
    co_await until([&] { return channel.ticket->is_current(); });
    if (file.patterns->expects_runs(access.direction)) moved = co_await move_runs(file, channel, access.direction, run_of(file, access, options));
    if (moved && options.more) *options.more = false;
  }
  if (!moved) moved = co_await enter_and_move(file, channel, access, options);
  if (file.trace) file.trace->record(TraceEvent{TraceKind::kCollective, start, now_ns(), *moved ? **moved : 0, -1, {}, file.counters});
  co_return *std::move(moved);
}

}  // namespace mercutio
