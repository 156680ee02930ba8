// Small collectives as tasks. The channel must outlive the task.
//
// Ranks of a node combine their items in the node's shared memory. Then the first ranks of the nodes exchange O(log nodes) messages
// each. Without shared memory, or if the items do not fit into it, each rank exchanges O(log ranks) messages. Any number of
// collectives may be in flight at once if their tags differ.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "base/counters.h"
#include "comm/comm.h"
#include "engine/agreement/node_arena.h"
#include "engine/progress/task.h"

namespace mercutio {

// The communication context of one operation, valid until the operation ends: the Comm, the first of its kTagsPerOperation tags,
// and its ticket for the shared memory of the node (null: no shared memory is used). `number` counts the channels of an open file; it
// is the same on all ranks.
inline constexpr i64 kTagsPerOperation = 3;
// Of the channel with this number. The tags of two channels are equal or disjoint.
inline constexpr i64 first_tag(i64 number, i64 tags) { return number % std::max<i64>(1, tags / kTagsPerOperation) * kTagsPerOperation; }
struct Channel {
  Comm* comm = nullptr;
  i64 tag = 0;
  TicketRef ticket = nullptr;
  Counters* counters = nullptr;   // of the operation; null: nothing is counted
  i64 number = 0;

  // Sends to or receives from a rank. The tag is the operation's first tag plus `behind`.
  Result<std::unique_ptr<Message>> send(i64 to, ConstBytes data, i64 behind = 0) const {
    if (counters) {
      ++counters->messages;
      counters->message_bytes += static_cast<i64>(data.size());
    }
    return comm->send(to, tag + behind, data);
  }
  void copied(i64 bytes) const {
    if (counters) counters->copied_bytes += bytes;
  }
  void described(i64 bytes) const {   // bytes of run lists
    if (counters) counters->metadata_bytes += bytes;
  }
  Result<std::unique_ptr<Message>> receive(i64 from, Bytes data, i64 behind = 0) const { return comm->receive(from, tag + behind, data); }
};

// Element-wise reduction over all ranks; every rank gets the result in `values`. With `act`: rank 0 acts when it has
// the result, before any other rank has it, and every rank gets what it leaves in `values`.
enum class Reduce { kMax, kMin };
using Act = std::function<void()>;
Task<Status> all_reduce(const Channel& channel, std::span<i64> values, Reduce op, const Act* act = nullptr);
// Gathers items of equal size. `all` holds P * mine.size() bytes.
Task<Status> all_gather(const Channel& channel, ConstBytes mine, Bytes all);
Task<Status> broadcast(const Channel& channel, i64 root, std::vector<std::byte>& data);   // any size; `data` holds the root's data afterwards

// The first step of a two-level collective on a channel with a ticket: contributes `mine` to the gather of the node. If
// the node holds all ranks, it ends when all contributions have arrived. If there are other nodes, or rank 0 acts for
// all, it ends then on the node's first rank, and on the other ranks when the first rank has published a result.
//
// Gathers are numbered. A rank that has abandoned a gather because another rank died must not take part in later ones.
class NodeGather {
 public:
  bool operator()();   // makes progress; true when it has ended
  const Channel* channel;
  ConstBytes mine;
  bool publishes;
  bool posted = false, died = false;
};
struct NodeGatherAwaiter : Until<NodeGather> {   // not a Task, because every agreement uses it and a Task costs a frame
  Status await_resume() {
    Until::await_resume();
    return predicate.died ? rank_died() : ok_status();
  }
};
inline NodeGatherAwaiter gather_on_node(const Channel& channel, ConstBytes mine, bool acts = false) {
  return {{NodeGather{&channel, mine, acts || !channel.ticket->arena().whole()}}};
}

// The same for a blocking call whose ticket is current, if one node holds all ranks. pause(n): after the n-th look in vain; false: a rank has died.
using Pause = std::function<bool(i64)>;
Status gather_at_once(const Channel& channel, ConstBytes mine, const Pause& pause);

// Reduces what the ranks of the node have gathered.
void reduce_node(const NodeArena& arena, std::span<i64> values, Reduce op);

// Agreement: ok only if every rank is ok. Otherwise every rank gets an Error of the class of the lowest failing rank, whose text
// names that rank and its host. Costs one all_reduce if all ranks are ok. The same all_reduce computes the minima of the ranks' values.
inline constexpr size_t kMostAgreedValues = 21;   // the lowest and the highest of ten, and a time
Task<Status> agree(const Channel& channel, Status mine, std::span<i64> lowest = {});
// The same without values, for a blocking call whose ticket is current, if one node holds all ranks.
Status agree_at_once(const Channel& channel, Status mine, const Pause& pause);
// Agreement with an action of rank 0 in the middle, at the cost of one agreement. Rank 0 acts when it knows whether all ranks are ok
// and has the minima. All ranks get what it then leaves in `lowest`. Its Error counts if all ranks were ok before.
using ActionOfRankZero = std::function<Status(bool all_ok)>;
Task<Status> agree_after(const Channel& channel, Status mine, std::span<i64> lowest, const ActionOfRankZero& action);

}  // namespace mercutio
