#include "engine/agreement/collectives.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/agreement/messages.h"
#include "engine/agreement/peers.h"

namespace mercutio {
namespace {

bool fits(const Channel& channel, size_t bytes) { return channel.ticket && static_cast<i64>(bytes) <= NodeArena::kGatherBytes; }

Task<Status> act_among(const Channel& channel, Peers peers, std::span<i64> values, Reduce op, const Act& act) {
  const i64 root = peers.peer_of(*channel.comm, 0);
  MERCUTIO_CO_TRY(co_await reduce_to(channel, peers, root, values, op));
  if (peers.me == root) act();
  co_return co_await hand_down(channel, peers, root, bytes_of(values));
}

}  // namespace

void reduce_node(const NodeArena& arena, std::span<i64> values, Reduce op) {
  for (size_t i = 0; i < arena.members().size(); ++i) {
    const std::span<const i64> theirs(reinterpret_cast<const i64*>(arena.contribution(static_cast<i64>(i))), values.size());
    if (i == 0) std::copy(theirs.begin(), theirs.end(), values.begin());
    if (i > 0) combine(values, theirs, op);
  }
}

bool NodeGather::operator()() {
  NodeArena& arena = channel->ticket->arena();
  if (!posted) {
    if (!channel->ticket->is_current()) return false;
    died = channel->comm->failed(/*may_call=*/false);
    if (died) return true;
    arena.post(mine, publishes);
    posted = true;
  }
  return publishes && !arena.is_first() ? arena.expecting_wake(arena.published()) : arena.all_posted();
}

Status gather_at_once(const Channel& channel, ConstBytes mine, const Pause& pause) {
  NodeArena& arena = channel.ticket->arena();
  MERCUTIO_ASSERT(arena.whole() && channel.ticket->is_current());
  if (channel.comm->failed(/*may_call=*/false)) return rank_died();
  arena.post(mine, /*publishes=*/false);
  for (i64 looks = 1; !arena.all_posted(); ++looks)
    if (!pause(looks)) return rank_died();
  return ok_status();
}

namespace {

// A collective on a channel with a ticket. The result is made of what a node has gathered by combine(arena), and completed by among(peers) between the first
// ranks if they publish it: if there are other nodes, or rank 0 acts for all.
template <class Combine, class Among>
Task<Status> by_nodes(NodeGatherAwaiter gather, Bytes result, Combine combine, Among among) {
  MERCUTIO_CO_TRY(co_await gather);
  const Channel& channel = *gather.predicate.channel;
  NodeArena& arena = channel.ticket->arena();
  const bool publishes = gather.predicate.publishes;
  if (publishes && !arena.is_first()) co_return arena.take_result(result);
  combine(arena);
  if (!publishes) co_return ok_status();
  Status done = co_await among(first_ranks(*channel.comm, arena));
  arena.publish(done, result);
  co_return done;
}

// Gathers the items of all ranks and sorts them by rank. `mine`: those of the ranks that this peer represents; it may be in `all`.
Task<Status> gather_items(const Channel& channel, Peers peers, size_t item, ConstBytes mine, Bytes all) {
  const auto peer_of = [&](i64 rank) { return static_cast<size_t>(peers.peer_of(*channel.comm, rank)); };
  std::vector<i64> sizes(static_cast<size_t>(peers.count), 0), next(sizes.size());
  for (i64 rank = 0; rank < channel.comm->size(); ++rank) sizes[peer_of(rank)] += static_cast<i64>(item);
  std::exclusive_scan(sizes.begin(), sizes.end(), next.begin(), i64{0});
  std::vector<std::byte> gathered(all.size());
  MERCUTIO_CO_TRY(co_await gather_among(channel, peers, sizes, mine, gathered));
  for (i64 rank = 0; rank < channel.comm->size(); ++rank) {
    std::copy_n(gathered.begin() + next[peer_of(rank)], item, all.begin() + rank * static_cast<i64>(item));
    next[peer_of(rank)] += static_cast<i64>(item);
  }
  co_return ok_status();
}

}  // namespace

Task<Status> all_reduce(const Channel& channel, std::span<i64> values, Reduce op, const Act* act) {
  const auto among = [&channel, values, op, act](Peers peers) {
    return act ? act_among(channel, peers, values, op, *act) : reduce_among(channel, peers, values, op);
  };
  if (!fits(channel, values.size_bytes())) return among(all_ranks(*channel.comm));
  const auto combine = [values, op](const NodeArena& arena) { reduce_node(arena, values, op); };
  return by_nodes(gather_on_node(channel, const_bytes_of(values), /*acts=*/act != nullptr), bytes_of(values), combine, among);
}

Task<Status> all_gather(const Channel& channel, ConstBytes mine, Bytes all) {
  const size_t item = mine.size();
  const bool by_messages = !fits(channel, item) || (!channel.ticket->arena().whole() && std::ssize(all) > channel.ticket->arena().result_room());
  if (by_messages) return gather_items(channel, all_ranks(*channel.comm), item, mine, all);
  const i64 members = std::ssize(channel.ticket->arena().members());
  const Bytes of_node = all.first(static_cast<size_t>(members) * item);
  const auto combine = [=](const NodeArena& arena) {
    for (i64 i = 0; i < members; ++i) std::copy_n(arena.contribution(i), item, of_node.begin() + i * static_cast<i64>(item));
  };
  const auto among = [=, &channel](Peers peers) { return gather_items(channel, peers, item, of_node, all); };
  return by_nodes(gather_on_node(channel, mine), all, combine, among);
}

namespace {

// The data of the root, or its first part if it does not fit into a gather.
struct BroadcastItem {
  i64 bytes = 0;
  std::byte data[NodeArena::kGatherBytes - sizeof(i64)]{};
};

Task<Status> broadcast_on_nodes(const Channel& channel, i64 root, std::vector<std::byte>& data) {
  BroadcastItem item;
  item.bytes = std::ssize(data);
  const size_t here = channel.comm->rank() == root ? std::min(data.size(), sizeof item.data) : 0;
  if (here > 0) std::memcpy(item.data, data.data(), here);
  const Bytes bytes = bytes_of(std::span(&item, 1));
  const auto combine = [&](const NodeArena& arena) {
    const auto sender = std::ranges::lower_bound(arena.members(), root);
    if (sender != arena.members().end() && *sender == root) std::memcpy(&item, arena.contribution(sender - arena.members().begin()), sizeof item);
  };
  const auto among = [&](Peers peers) { return hand_down(channel, peers, peers.peer_of(*channel.comm, root), bytes); };
  MERCUTIO_CO_TRY(co_await by_nodes(gather_on_node(channel, bytes), bytes, combine, among));
  if (item.bytes < 0) co_return Error{ErrorClass::kIntern, "a message of negative length was announced"};
  if (item.bytes > static_cast<i64>(sizeof item.data)) co_return co_await broadcast_among(channel, all_ranks(*channel.comm), root, data);
  data.assign(item.data, item.data + item.bytes);
  co_return ok_status();
}

// From rank 0, if one node holds all ranks.
Task<Status> broadcast_from_first(const Channel& channel, std::vector<std::byte>& data) {
  co_await until([&] { return channel.ticket->is_current(); });
  NodeArena& arena = channel.ticket->arena();
  if (!arena.may_publish()) co_return co_await broadcast_on_nodes(channel, 0, data);
  arena.begin_publication();
  if (arena.is_first()) arena.publish(ok_status(), data);
  if (!arena.is_first()) co_await until([&] { return arena.expecting_wake(arena.published()); });
  if (!arena.result_fits()) co_return co_await broadcast_among(channel, all_ranks(*channel.comm), 0, data);
  if (!arena.is_first()) data.assign(arena.result().begin(), arena.result().end());
  co_return ok_status();
}

}  // namespace

Task<Status> broadcast(const Channel& channel, i64 root, std::vector<std::byte>& data) {
  if (!channel.ticket || channel.ticket->arena().is_private()) return broadcast_among(channel, all_ranks(*channel.comm), root, data);
  return root == 0 && channel.ticket->arena().whole() ? broadcast_from_first(channel, data) : broadcast_on_nodes(channel, root, data);
}

}  // namespace mercutio
