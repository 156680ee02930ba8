// Over messages: all-reduce: recursive doubling with the ranks beyond a power of two folded in; gathers: Bruck et al. 1997,
// which works for any number of ranks; broadcast: binomial tree. Every pair of ranks exchanges its messages in the same order
// on both sides, so one tag serves a whole operation.
#include "engine/collectives.h"

#include <algorithm>
#include <cstring>

#include "base/attempt.h"
#include "engine/messages.h"

namespace mercutio {
namespace {

constexpr i64 kNobody = -1;

// Sends `out` to one rank and fills `in` from another; either may be kNobody.
Task<Status> swap_messages(Channel channel, i64 to, ConstBytes out, i64 from, Bytes in) {
  MessageSet messages;
  if (from != kNobody) messages.add(channel.receive(from, in));
  if (to != kNobody) messages.add(channel.send(to, out));
  co_await until([&] { return messages.done(); });
  co_return messages.status();
}

// Values of a malformed message may overflow: the user of the sum sees that it is too small.
i64 plus(i64 a, i64 b) {
  return static_cast<i64>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

void combine(std::span<i64> into, std::span<const i64> other, Reduce op) {
  for (size_t i = 0; i < into.size(); ++i) {
    switch (op) {
      case Reduce::kMax: into[i] = std::max(into[i], other[i]); break;
      case Reduce::kMin: into[i] = std::min(into[i], other[i]); break;
      case Reduce::kSum: into[i] = plus(into[i], other[i]); break;
    }
  }
}

Status check_length(i64 bytes) {
  constexpr i64 kMost = i64{1} << 40;
  if (bytes >= 0 && bytes <= kMost) return ok_status();
  return Error{ErrorClass::kIntern, "a message of " + std::to_string(bytes) + " bytes was announced"};
}

// Allocates memory for a length that another rank announced.
Status make_room(std::vector<std::byte>& data, i64 bytes) {
  MERCUTIO_TRY(check_length(bytes));
  return attempt([&] {
    data.resize(static_cast<size_t>(bytes));
    return ok_status();
  });
}

Status make_room_for_all(std::span<const i64> sizes, std::vector<std::byte>& together,
                         std::vector<std::vector<std::byte>>& each) {
  return attempt([&] {
    size_t total = 0;
    for (size_t rank = 0; rank < sizes.size(); ++rank) {
      each[rank].resize(static_cast<size_t>(sizes[rank]));
      total += each[rank].size();
    }
    together.reserve(total);
    return ok_status();
  });
}

i64 power_of_two_below(i64 ranks) {
  i64 power = 1;
  while (power * 2 <= ranks) power *= 2;
  return power;
}

// Bruck: `blocks` holds the blocks of ranks r, r+1, ... (modulo P) one after the other, `sizes` their lengths by rank.
// After round k a rank holds min(2k, P) blocks.
Task<Status> bruck(Channel channel, std::span<const i64> sizes, std::vector<std::byte>& blocks) {
  const i64 ranks = channel.comm->size(), me = channel.comm->rank();
  auto span_of = [&](i64 first_rank, i64 count) {
    i64 bytes = 0;
    for (i64 i = 0; i < count; ++i) {
      if (__builtin_add_overflow(bytes, sizes[static_cast<size_t>((first_rank + i) % ranks)], &bytes)) return INT64_MAX;
    }
    return bytes;
  };
  for (i64 held = 1; held < ranks; held *= 2) {
    const i64 count = std::min(held, ranks - held);
    const i64 to = (me - held + ranks) % ranks, from = (me + held) % ranks;
    const i64 out_bytes = span_of(me, count), in_bytes = span_of(from, count);
    const size_t old_bytes = blocks.size();
    MERCUTIO_CO_TRY(make_room(blocks, static_cast<i64>(old_bytes) + std::min(in_bytes, INT64_MAX / 2)));
    ConstBytes out(blocks.data(), static_cast<size_t>(out_bytes));
    Bytes in(blocks.data() + old_bytes, static_cast<size_t>(in_bytes));
    MERCUTIO_CO_TRY(co_await swap_messages(channel, out_bytes > 0 ? to : kNobody, out, in_bytes > 0 ? from : kNobody, in));
  }
  co_return ok_status();
}

// Through the node's memory every small collective is one gather; each rank computes the result from it.
bool on_one_node(const Channel& channel) { return channel.ticket && channel.ticket->arena().whole(); }
bool fits_node(const Channel& channel, size_t bytes) {
  return on_one_node(channel) && static_cast<i64>(bytes) <= NodeArena::kGatherBytes;
}

Task<Status> node_gather(Channel channel, ConstBytes mine, Bytes all) {
  co_await until([&] { return channel.ticket->is_current(); });
  NodeArena& arena = channel.ticket->arena();
  // Gathers are identified by their number. A rank that has abandoned one, because a rank died, must not be taken for
  // one that takes part in it.
  if (channel.comm->failed(/*may_call=*/false)) co_return rank_died();
  arena.post(mine);
  co_await until([&] { return arena.all_posted(); });
  arena.collect(static_cast<i64>(mine.size()), all);
  co_return ok_status();
}

Task<Status> node_all_reduce(Channel channel, std::span<i64> values, Reduce op) {
  const i64 ranks = channel.comm->size();
  std::vector<i64> all(values.size() * static_cast<size_t>(ranks));
  MERCUTIO_CO_TRY(co_await node_gather(channel, const_bytes_of(values), bytes_of(std::span(all))));
  for (i64 rank = 0; rank < ranks; ++rank) {
    const auto theirs = std::span<const i64>(all).subspan(static_cast<size_t>(rank) * values.size(), values.size());
    if (rank == 0) std::copy(theirs.begin(), theirs.end(), values.begin());
    if (rank > 0) combine(values, theirs, op);
  }
  co_return ok_status();
}

}  // namespace

Task<Status> all_reduce(Channel channel, std::span<i64> values, Reduce op) {
  if (fits_node(channel, values.size_bytes())) co_return co_await node_all_reduce(channel, values, op);
  const i64 ranks = channel.comm->size(), me = channel.comm->rank();
  const i64 power = power_of_two_below(ranks), extra = ranks - power;
  std::vector<i64> other(values.size());
  Bytes mine = bytes_of(values), theirs = bytes_of(std::span(other));
  if (me >= power) {   // send the values, and receive the result
    MERCUTIO_CO_TRY(co_await swap_messages(channel, me - power, mine, kNobody, {}));
    co_return co_await swap_messages(channel, kNobody, {}, me - power, mine);
  }
  if (me < extra) {
    MERCUTIO_CO_TRY(co_await swap_messages(channel, kNobody, {}, me + power, theirs));
    combine(values, other, op);
  }
  for (i64 mask = 1; mask < power; mask *= 2) {
    MERCUTIO_CO_TRY(co_await swap_messages(channel, me ^ mask, mine, me ^ mask, theirs));
    combine(values, other, op);
  }
  if (me < extra) co_return co_await swap_messages(channel, me + power, mine, kNobody, {});
  co_return ok_status();
}

Task<Status> all_gather(Channel channel, ConstBytes mine, Bytes all) {
  if (fits_node(channel, mine.size())) co_return co_await node_gather(channel, mine, all);
  const i64 ranks = channel.comm->size(), me = channel.comm->rank();
  std::vector<i64> sizes(static_cast<size_t>(ranks), static_cast<i64>(mine.size()));
  std::vector<std::byte> blocks(mine.begin(), mine.end());
  blocks.reserve(all.size());
  MERCUTIO_CO_TRY(co_await bruck(channel, sizes, blocks));
  if (mine.empty()) co_return ok_status();
  const size_t head = mine.size() * static_cast<size_t>(ranks - me);   // blocks of ranks me..P-1 come first
  std::memcpy(all.data() + mine.size() * static_cast<size_t>(me), blocks.data(), head);
  std::memcpy(all.data(), blocks.data() + head, blocks.size() - head);
  co_return ok_status();
}

Task<Result<std::vector<std::vector<std::byte>>>> all_gather_strings(Channel channel, ConstBytes mine) {
  const i64 ranks = channel.comm->size(), me = channel.comm->rank();
  i64 my_bytes = static_cast<i64>(mine.size());
  std::vector<i64> sizes(static_cast<size_t>(ranks));
  MERCUTIO_CO_TRY(co_await all_gather(channel, const_bytes_of(std::span(&my_bytes, 1)), bytes_of(std::span(sizes))));
  for (const i64 size : sizes) MERCUTIO_CO_TRY(check_length(size));   // equal on all ranks
  sizes[static_cast<size_t>(me)] = my_bytes;
  // Either all ranks have memory for it or none begins, as ranks forward what others sent.
  std::vector<std::byte> blocks;
  std::vector<std::vector<std::byte>> all(static_cast<size_t>(ranks));
  MERCUTIO_CO_TRY(co_await agree(channel, make_room_for_all(sizes, blocks, all)));
  blocks.assign(mine.begin(), mine.end());
  MERCUTIO_CO_TRY(co_await bruck(channel, sizes, blocks));
  const std::byte* next = blocks.data();
  for (i64 i = 0; i < ranks; ++i) {
    const size_t rank = static_cast<size_t>((me + i) % ranks);
    std::copy(next, next + sizes[rank], all[rank].begin());
    next += sizes[rank];
  }
  co_return all;
}

// Sends the root's size with the data, so that all ranks know whether the data fitted.
static Task<Status> node_broadcast(Channel channel, i64 root, std::vector<std::byte>& data, bool& done) {
  struct Item {
    i64 bytes = 0;
    std::byte data[NodeArena::kGatherBytes - sizeof(i64)];
  };
  const size_t ranks = static_cast<size_t>(channel.comm->size());
  Item mine;
  mine.bytes = static_cast<i64>(data.size());
  const size_t here = channel.comm->rank() == root ? std::min(data.size(), sizeof mine.data) : 0;
  if (here > 0) std::memcpy(mine.data, data.data(), here);
  std::vector<Item> all(ranks);
  MERCUTIO_CO_TRY(co_await node_gather(channel, const_bytes_of(std::span(&mine, 1)), bytes_of(std::span(all))));
  const Item& sent = all[static_cast<size_t>(root)];
  done = sent.bytes <= static_cast<i64>(sizeof sent.data);
  if (sent.bytes < 0) co_return Error{ErrorClass::kIntern, "a message of negative length was announced"};
  if (done) data.assign(sent.data, sent.data + sent.bytes);
  co_return ok_status();
}

Task<Status> broadcast(Channel channel, i64 root, std::vector<std::byte>& data) {
  const i64 ranks = channel.comm->size();
  if (on_one_node(channel)) {
    bool done = false;
    MERCUTIO_CO_TRY(co_await node_broadcast(channel, root, data, done));
    if (done) co_return ok_status();
  }
  const i64 relative = (channel.comm->rank() - root + ranks) % ranks;   // the rank relative to the root
  i64 bytes = static_cast<i64>(data.size());
  i64 mask = 1;
  while (mask < ranks && (relative & mask) == 0) mask *= 2;
  if (relative != 0) {
    const i64 parent = (relative - mask + root) % ranks;
    MERCUTIO_CO_TRY(co_await swap_messages(channel, kNobody, {}, parent, bytes_of(std::span(&bytes, 1))));
    MERCUTIO_CO_TRY(make_room(data, bytes));
    if (bytes > 0) MERCUTIO_CO_TRY(co_await swap_messages(channel, kNobody, {}, parent, data));
  }
  MessageSet messages;
  for (mask /= 2; mask > 0; mask /= 2) {
    if (relative + mask >= ranks) continue;
    const i64 child = (relative + mask + root) % ranks;
    messages.add(channel.send(child, const_bytes_of(std::span(&bytes, 1))));
    if (bytes > 0) messages.add(channel.send(child, data));
  }
  co_await until([&] { return messages.done(); });
  co_return messages.status();
}

Task<Status> barrier(Channel channel) {
  i64 nothing = 0;
  co_return co_await all_reduce(channel, std::span(&nothing, 1), Reduce::kMax);
}

}  // namespace mercutio
