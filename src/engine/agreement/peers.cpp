// Every pair of peers exchanges its messages in the same order on both sides, so one tag suffices for an operation.
#include "engine/agreement/peers.h"

#include <algorithm>
#include <bit>

#include "engine/agreement/messages.h"

namespace mercutio {
namespace {

constexpr i64 kNobody = -1;

// Sends `out` to one rank and receives `in` from another. Either rank may be kNobody.
Task<Status> swap_messages(const Channel& channel, i64 to, ConstBytes out, i64 from, Bytes in) {
  MessageSet messages;
  if (from != kNobody) messages.add(channel.receive(from, in));
  if (to != kNobody) messages.add(channel.send(to, out));
  co_await until([&] { return messages.done(); });
  co_return messages.status();
}

}  // namespace

void combine(std::span<i64> into, std::span<const i64> other, Reduce op) {
  for (size_t i = 0; i < into.size(); ++i) {
    into[i] = op == Reduce::kMax ? std::max(into[i], other[i]) : std::min(into[i], other[i]);
  }
}

Task<Status> reduce_among(const Channel& channel, Peers peers, std::span<i64> values, Reduce op) {
  const auto count = static_cast<std::uint64_t>(peers.count);
  const i64 me = peers.me, power = static_cast<i64>(std::bit_floor(count)), extra = peers.count - power;
  std::vector<i64> other(values.size());
  Bytes mine = bytes_of(values), theirs = bytes_of(std::span(other));
  if (me >= power) {   // send the values to a peer within the power of two, and receive the result
    MERCUTIO_CO_TRY(co_await swap_messages(channel, peers.rank(me - power), mine, kNobody, {}));
    co_return co_await swap_messages(channel, kNobody, {}, peers.rank(me - power), mine);
  }
  if (me < extra) {
    MERCUTIO_CO_TRY(co_await swap_messages(channel, kNobody, {}, peers.rank(me + power), theirs));
    combine(values, other, op);
  }
  for (i64 mask = 1; mask < power; mask *= 2) {
    const i64 partner = peers.rank(me ^ mask);
    MERCUTIO_CO_TRY(co_await swap_messages(channel, partner, mine, partner, theirs));
    combine(values, other, op);
  }
  if (me < extra) co_return co_await swap_messages(channel, peers.rank(me + power), mine, kNobody, {});
  co_return ok_status();
}

// The items of peers me, me + 1, ... (modulo their number) are stored in this order. After round k a peer has min(2k, count) of
// them.
Task<Status> gather_among(const Channel& channel, Peers peers, std::span<const i64> sizes, ConstBytes mine, Bytes all) {
  const i64 count = peers.count, me = peers.me;
  const auto bytes_of_items = [&](i64 first, i64 number) {
    i64 bytes = 0;
    for (i64 i = 0; i < number; ++i) bytes += sizes[static_cast<size_t>((first + i) % count)];
    return static_cast<size_t>(bytes);
  };
  std::ranges::copy(mine, all.begin());
  size_t held_bytes = mine.size();
  for (i64 held = 1; held < count; held *= 2) {
    const i64 number = std::min(held, count - held), to = (me - held + count) % count, from = (me + held) % count;
    const Bytes out = all.first(bytes_of_items(me, number)), in = all.subspan(held_bytes, bytes_of_items(from, number));
    held_bytes += in.size();
    MERCUTIO_CO_TRY(co_await swap_messages(channel, out.empty() ? kNobody : peers.rank(to), out, in.empty() ? kNobody : peers.rank(from), in));
  }
  std::ranges::rotate(all, all.begin() + static_cast<i64>(bytes_of_items(me, count - me)));   // the items of peer `me` to the last one come first
  co_return ok_status();
}

Task<Status> reduce_to(const Channel& channel, Peers peers, i64 root, std::span<i64> values, Reduce op) {
  const i64 count = peers.count, relative = (peers.me - root + count) % count;
  std::vector<i64> other(values.size());
  for (i64 mask = 1; mask < count; mask *= 2) {
    if (relative & mask) co_return co_await swap_messages(channel, peers.rank((relative - mask + root) % count), bytes_of(values), kNobody, {});
    if (relative + mask >= count) continue;
    MERCUTIO_CO_TRY(co_await swap_messages(channel, kNobody, {}, peers.rank((relative + mask + root) % count), bytes_of(std::span(other))));
    combine(values, other, op);
  }
  co_return ok_status();
}

Task<Status> hand_down(const Channel& channel, Peers peers, i64 root, Bytes data) {
  const i64 count = peers.count, relative = (peers.me - root + count) % count;
  i64 mask = 1;
  while (mask < count && (relative & mask) == 0) mask *= 2;
  if (relative != 0) MERCUTIO_CO_TRY(co_await swap_messages(channel, kNobody, {}, peers.rank((relative - mask + root) % count), data));
  MessageSet messages;
  for (mask /= 2; mask > 0; mask /= 2)
    if (relative + mask < count) messages.add(channel.send(peers.rank((relative + mask + root) % count), data));
  co_await until([&] { return messages.done(); });
  co_return messages.status();
}

Task<Status> broadcast_among(const Channel& channel, Peers peers, i64 root, std::vector<std::byte>& data) {
  constexpr i64 kMost = i64{1} << 40;
  i64 bytes = std::ssize(data);
  MERCUTIO_CO_TRY(co_await hand_down(channel, peers, root, bytes_of(std::span(&bytes, 1))));
  if (bytes < 0 || bytes > kMost) co_return Error{ErrorClass::kIntern, "a message of " + std::to_string(bytes) + " bytes was announced"};
  data.resize(static_cast<size_t>(bytes));   // on the root it has that size
  if (bytes > 0) MERCUTIO_CO_TRY(co_await hand_down(channel, peers, root, data));
  co_return ok_status();
}

}  // namespace mercutio
