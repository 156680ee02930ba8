// Collectives by messages among a subset of the ranks. Inside engine/ only.
#pragma once

#include "engine/agreement/collectives.h"

namespace mercutio {

// The ranks that exchange messages, in ascending order or by node. The calling rank is one of them.
struct Peers {
  std::span<const i64> ranks;   // empty: all ranks of the Comm
  i64 count = 0;
  i64 me = 0;                   // index of the calling rank
  i64 rank(i64 index) const { return ranks.empty() ? index : ranks[static_cast<size_t>(index)]; }
  // The index of the peer that represents a rank.
  i64 peer_of(const Comm& comm, i64 rank) const { return ranks.empty() ? rank : comm.topology().node_of_rank[static_cast<size_t>(rank)]; }
};

inline Peers all_ranks(const Comm& comm) { return Peers{{}, comm.size(), comm.rank()}; }
// The first ranks of the nodes. With private arenas every rank is a first rank.
inline Peers first_ranks(const Comm& comm, const NodeArena& arena) {
  if (arena.is_private()) return all_ranks(comm);
  Peers peers{arena.first_ranks(), std::ssize(arena.first_ranks()), 0};
  peers.me = peers.peer_of(comm, comm.rank());
  return peers;
}

void combine(std::span<i64> into, std::span<const i64> other, Reduce op);

// All-reduce by recursive doubling. Peers beyond the largest power of two send their values to another peer first.
Task<Status> reduce_among(const Channel& channel, Peers peers, std::span<i64> values, Reduce op);
// All-gather (Bruck et al. 1997), for any number of peers. `sizes`: bytes of each peer's item, the same on all peers. `all` has room for
// exactly all items, by peer.
Task<Status> gather_among(const Channel& channel, Peers peers, std::span<const i64> sizes, ConstBytes mine, Bytes all);
// Binomial trees. `root` is an index in `peers`. Only the root gets the result of the reduction.
Task<Status> reduce_to(const Channel& channel, Peers peers, i64 root, std::span<i64> values, Reduce op);
Task<Status> hand_down(const Channel& channel, Peers peers, i64 root, Bytes data);   // of a length that all ranks know
Task<Status> broadcast_among(const Channel& channel, Peers peers, i64 root, std::vector<std::byte>& data);

}  // namespace mercutio
