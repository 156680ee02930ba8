// Agreement: one all-reduce finds the lowest failing rank. Only if there is one, its Error is broadcast. If rank 0 acts in between, the
// agreement is a reduction to rank 0 and a broadcast.
#include "engine/agreement/collectives.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "base/attempt.h"
#include "engine/agreement/messages.h"

namespace mercutio {
namespace {

std::vector<std::byte> to_bytes(const Error& error) {
  const i64 head[4] = {static_cast<i64>(error.cls), error.sys_errno, error.offset, error.bytes};
  std::vector<std::byte> bytes(sizeof head + error.what.size());
  std::memcpy(bytes.data(), head, sizeof head);
  if (!error.what.empty()) std::memcpy(bytes.data() + sizeof head, error.what.data(), error.what.size());
  return bytes;
}

// Longer texts are truncated. With the rank and its host (at most 256 bytes) a report then fits into a gather in the node's memory,
// so an access within a node never needs a message.
constexpr size_t kTextBytes = 600;

Error from_bytes(const std::vector<std::byte>& bytes) {
  i64 head[4];
  if (bytes.size() < sizeof head) return Error{ErrorClass::kIntern, "an error report arrived cut short"};
  std::memcpy(head, bytes.data(), sizeof head);
  std::string what(reinterpret_cast<const char*>(bytes.data()) + sizeof head, bytes.size() - sizeof head);
  const bool known = head[0] > static_cast<i64>(ErrorClass::kNone) && head[0] <= static_cast<i64>(ErrorClass::kOther);
  if (!known || head[1] != static_cast<int>(head[1])) return Error{ErrorClass::kIntern, "an error report arrived damaged: " + what};
  return Error{static_cast<ErrorClass>(head[0]), std::move(what), static_cast<int>(head[1]), head[2], head[3]};
}

// The lowest failing rank, or the number of ranks; then the values.
struct Words {
  i64 all[1 + kMostAgreedValues];
  const std::span<i64> used;
  Words(const Words&) = delete;
  Words(const Channel& channel, const Status& mine, std::span<const i64> values) : used(all, 1 + values.size()) {
    MERCUTIO_ASSERT(values.size() <= kMostAgreedValues);
    all[0] = mine.ok() ? channel.comm->size() : channel.comm->rank();
    std::copy(values.begin(), values.end(), all + 1);
  }
  void give(std::span<i64> values) const { std::copy(used.begin() + 1, used.end(), values.begin()); }
};

// All ranks know the lowest failing one.
Task<Status> tell_error(const Channel& channel, Status mine, i64 failing) {
  const i64 ranks = channel.comm->size(), me = channel.comm->rank();
  if (failing < 0 || failing > ranks) co_return Error{ErrorClass::kIntern, "a rank that isn't there reported a failure"};
  std::vector<std::byte> report;
  if (failing == me) {
    Error error = mine.ok() ? Error{ErrorClass::kIntern, "another rank reported a failure of this one"} : mine.error();
    if (error.what.size() > kTextBytes) error.what.resize(kTextBytes);
    if (ranks > 1) error.what += " (rank " + std::to_string(me) + " on " + channel.comm->host() + ")";
    report = to_bytes(error);
  }
  MERCUTIO_CO_TRY(co_await broadcast(channel, failing, report));
  co_return from_bytes(report);
}

}  // namespace

Task<Status> agree(const Channel& channel, Status mine, std::span<i64> lowest) {
  Words words(channel, mine, lowest);
  if (channel.ticket && channel.ticket->arena().whole()) {   // as all_reduce does, which every access would wait for
    MERCUTIO_CO_TRY(co_await gather_on_node(channel, const_bytes_of(words.used)));
    reduce_node(channel.ticket->arena(), words.used, Reduce::kMin);
  } else {
    MERCUTIO_CO_TRY(co_await all_reduce(channel, words.used, Reduce::kMin));
  }
  words.give(lowest);
  if (words.all[0] == channel.comm->size()) co_return mine;   // an error only if what came is damaged
  co_return co_await tell_error(channel, std::move(mine), words.all[0]);
}

Status agree_at_once(const Channel& channel, Status mine, const Pause& pause) {
  const Words words(channel, mine, {});
  MERCUTIO_TRY(gather_at_once(channel, const_bytes_of(words.used), pause));
  reduce_node(channel.ticket->arena(), words.used, Reduce::kMin);
  if (words.all[0] == channel.comm->size()) return mine;
  Task<Status> telling = tell_error(channel, std::move(mine), words.all[0]);
  for (i64 steps = 1; !telling.step(); ++steps)
    if (!pause(steps)) return rank_died();
  return telling.take();
}

Task<Status> agree_after(const Channel& channel, Status mine, std::span<i64> lowest, const ActionOfRankZero& action) {
  Words words(channel, mine, lowest);
  const i64 ranks = channel.comm->size();
  const Act act = [&] {
    const bool all_ok = words.all[0] == ranks;
    words.give(lowest);
    Status done = attempt([&] { return action(all_ok); });
    std::copy(lowest.begin(), lowest.end(), words.all + 1);
    if (!all_ok || done) return;
    words.all[0] = 0;
    mine = std::move(done);
  };
  MERCUTIO_CO_TRY(co_await all_reduce(channel, words.used, Reduce::kMin, &act));
  words.give(lowest);
  if (words.all[0] == ranks) co_return mine;
  co_return co_await tell_error(channel, std::move(mine), words.all[0]);
}

}  // namespace mercutio
