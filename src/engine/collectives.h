// Small collectives as tasks, whose channel must outlive them: through the shared memory of each node and with messages between the nodes' first ranks, O(log nodes) of them;
// where no memory is shared or the items don't fit there, with O(log ranks) messages a rank. Any number may be in flight at once as long as
// their tags differ.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/counters.h"
#include "comm/comm.h"
#include "engine/node_arena.h"
#include "engine/task.h"

namespace mercutio {

// The communication context of one operation: the Comm, the first of its tags, and its ticket for the node's memory
// (null: there is none). Valid until the operation ends.
inline constexpr i64 kTagsPerOperation = 3;
struct Channel {
  Comm* comm = nullptr;
  i64 tag = 0;
  TicketRef ticket = nullptr;
  Counters* counters = nullptr;   // of the operation; null: nothing is counted

  // Sends to or receives from a rank, on the tag `behind` places after the first.
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
  void described(i64 bytes) const {   // bytes of run lists, bit maps and views
    if (counters) counters->metadata_bytes += bytes;
  }
  Result<std::unique_ptr<Message>> receive(i64 from, Bytes data, i64 behind = 0) const { return comm->receive(from, tag + behind, data); }
};

// Element-wise reduction over all ranks; every rank gets the result in `values`.
enum class Reduce { kMax, kMin, kSum };
Task<Status> all_reduce(const Channel& channel, std::span<i64> values, Reduce op);
// Fixed-size items: `all` holds P * mine.size() bytes.
Task<Status> all_gather(const Channel& channel, ConstBytes mine, Bytes all);
Task<Status> broadcast(const Channel& channel, i64 root, std::vector<std::byte>& data);   // any size; afterwards every rank has the root's data
Task<Status> barrier(const Channel& channel);

// The first step of a collective in two levels, of a channel with a ticket: contributes `mine` to a gather of the node. It ends, where this node
// holds all ranks, when all contributions are there; else, on the node's first rank, likewise, and on others when that one has published a
// result.
// Gathers are identified by their number. A rank that has abandoned one, because a rank died, must not be taken for one that takes part in it.
class NodeGather {
 public:
  bool operator()();   // makes progress; true when it has ended
  const Channel* channel;
  ConstBytes mine;
  bool posted = false, died = false;
};
struct NodeGatherAwaiter : Until<NodeGather> {   // no task: every agreement goes through here
  Status await_resume() {
    Until::await_resume();
    return predicate.died ? rank_died() : ok_status();
  }
};
inline NodeGatherAwaiter gather_on_node(const Channel& channel, ConstBytes mine) { return {{NodeGather{&channel, mine}}}; }

// What the ranks of the node have gathered, reduced.
void reduce_node(const NodeArena& arena, std::span<i64> values, Reduce op);

// Agreement: ok only if every rank is ok; otherwise the Error of the lowest failing rank, with the same class on all
// ranks and a text that names that rank and its host. One all_reduce when all are ok, which also finds the lowest of the ranks' values, up to
// kAgreedValues of them.
inline constexpr size_t kAgreedValues = 2;
Task<Status> agree(const Channel& channel, Status mine, std::span<i64> lowest = {});

}  // namespace mercutio
