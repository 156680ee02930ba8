// Agreement: one all-reduce of the lowest failing rank; only if there is one, its Error is broadcast.
#include "engine/collectives.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "engine/messages.h"

namespace mercutio {
namespace {

std::vector<std::byte> to_bytes(const Error& error) {
  const i64 head[4] = {static_cast<i64>(error.cls), error.sys_errno, error.offset, error.bytes};
  std::vector<std::byte> bytes(sizeof head + error.what.size());
  std::memcpy(bytes.data(), head, sizeof head);
  if (!error.what.empty()) std::memcpy(bytes.data() + sizeof head, error.what.data(), error.what.size());
  return bytes;
}

// Longer texts are truncated: with the rank and its host (at most 256 bytes) a report fits into a gather through the
// node's memory, so an access within a node never needs a message.
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

}  // namespace

Task<Status> agree(const Channel& channel, Status mine, std::span<i64> lowest) {
  const i64 ranks = channel.comm->size(), me = channel.comm->rank();
  i64 all_words[1 + kAgreedValues] = {mine.ok() ? ranks : me};
  MERCUTIO_ASSERT(lowest.size() <= kAgreedValues);
  std::copy(lowest.begin(), lowest.end(), all_words + 1);
  const std::span<i64> words = std::span(all_words).first(std::max<size_t>(2, 1 + lowest.size()));
  if (channel.ticket && channel.ticket->arena().whole()) {   // as all_reduce does, which every access would wait for
    MERCUTIO_CO_TRY(co_await gather_on_node(channel, const_bytes_of(words)));
    reduce_node(channel.ticket->arena(), words, Reduce::kMin);
  } else {
    MERCUTIO_CO_TRY(co_await all_reduce(channel, words, Reduce::kMin));
  }
  std::copy_n(all_words + 1, lowest.size(), lowest.begin());
  if (words[0] == ranks) co_return mine;   // an error only if what came is damaged
  if (words[0] < 0 || words[0] > ranks) co_return Error{ErrorClass::kIntern, "a rank that isn't there reported a failure"};
  std::vector<std::byte> report;
  if (words[0] == me) {
    Error error = mine.ok() ? Error{ErrorClass::kIntern, "another rank reported a failure of this one"} : mine.error();
    if (error.what.size() > kTextBytes) error.what.resize(kTextBytes);
    if (ranks > 1) error.what += " (rank " + std::to_string(me) + " on " + channel.comm->host() + ")";
    report = to_bytes(error);
  }
  MERCUTIO_CO_TRY(co_await broadcast(channel, words[0], report));
  co_return from_bytes(report);
}

}  // namespace mercutio
