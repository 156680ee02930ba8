// A cluster in virtual time: ranks that are tasks of one thread, on nodes with cores and shared memory, and the network between them.
//
// A discrete-event simulation. Events say at what time a rank looks whether it can go on; the earliest is next. What a rank computes takes the
// processor time of this thread, times a factor, on a core of its node. A message occupies the links that it crosses one after the other, each
// as soon as it is free and the first byte is there. So ranks of one node are as far apart in time as they would be on cores of their own, but
// a rank may see what another one writes to shared memory up to one step too early.
//
// With a factor of 0, computing is free and no clock is read: equal options give equal events.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <tuple>
#include <vector>

#include "comm/comm.h"

namespace mercutio::scale {

struct ClusterModel {
  double processor = 0;           // times the processor time measured here; 0: computing is free
  i64 cores = 0;                  // of a node; 0: one for each rank
  bool one_machine = false;       // the nodes are emulated: `cores` are those of all of them
  i64 message_ns = 500;           // of a core, to send and to receive a message
  double copy_bytes_per_s = 0;    // at which a core copies what it sends and receives; 0: the network does it
  i64 latency_ns = 1'500;         // between two nodes
  double link_bytes_per_s = 12.5e9;   // of a node, in each direction
  i64 nodes_of_switch = 0;        // a fat tree of two levels; 0: one switch
  double uplink_bytes_per_s = 0;  // of a switch, in each direction
  double node_bytes_per_s = 10e9; // of messages inside a node
  i64 eager_bytes = 16 * KiB;     // a longer message waits for its receiver
  i64 connect_ns = 0;             // before the first message between two ranks of different nodes
  i64 wake_ns = 0;                // until a rank runs that another one of its node has woken
};

// In nanoseconds. A rate of 0 has no limit.
inline i64 time_of(i64 bytes, double bytes_per_s) {
  return bytes_per_s > 0 ? static_cast<i64>(1e9 * static_cast<double>(bytes) / bytes_per_s) : 0;
}

struct Traffic {
  i64 messages = 0, bytes = 0;
};

// What happened since the last clear().
struct ClusterCounts {
  std::vector<Traffic> into_node;   // between nodes
  i64 wakes = 0;                    // of ranks, by others of their node
  i64 steps = 0;                    // of all ranks
  i64 unasked_steps = 0;            // in which a rank got on although nothing had told it to look
  std::vector<i64> processor_ns;    // of each rank, as measured
};

class VirtualCluster {
 public:
  VirtualCluster(const ClusterModel& model, Topology topology);
  ~VirtualCluster();
  Comm& comm(i64 rank);
  i64 ranks() const { return topology_.ranks(); }

  // A step advances the task of one rank as far as possible and returns true when it is finished. All begin when the last one of the run before
  // has ended. False: no rank can go on.
  bool run(std::vector<std::function<bool()>> steps);

  // ---- for what a step calls ----
  i64 now();                            // of the rank that runs
  i64 rank() const { return running_; }
  void spend(i64 ns);                   // the rank that runs does something else, or waits, for that time
  void look_at(i64 rank, i64 at_ns);    // the rank may be able to go on then

  const ClusterCounts& counts() const { return counts_; }
  void clear_counts();
  i64 elapsed_ns() const { return latest_ns_ - began_ns_; }   // of the last run
  const Topology& topology() const { return topology_; }
  const ClusterModel& model() const { return model_; }

 private:
  friend class VirtualComm;
  friend class VirtualSegment;
  friend class VirtualSend;
  friend class VirtualReceive;

  // A message and its receive, whichever comes first.
  struct Meeting {
    i64 from = 0, to = 0;
    ConstBytes data;                 // of the sender, or `copy`
    std::vector<std::byte> copy;
    i64 sent_at = -1, posted_at = -1;
    i64 sender_free_at = -1;         // from then on, the sender may reuse its buffer; -1: not known
    i64 arrives_at = -1;             // -1: not known
    bool eager = false, received = false;

    // The sender may reuse its buffer, which the receiver has yet to read.
    void keep_data() {
      if (received || !copy.empty()) return;
      copy.assign(data.begin(), data.end());
      data = copy;
    }
  };
  struct Queue {
    i64 sent = 0, posted = 0, first = 0;   // numbers of messages; `meetings` begins with `first`
    std::deque<std::shared_ptr<Meeting>> meetings;
  };
  using Key = std::tuple<i64, i64, i64>;   // from, to, tag
  struct Event {
    i64 at_ns, number, rank;
    bool operator>(const Event& other) const { return std::tie(at_ns, number) > std::tie(other.at_ns, other.number); }
  };
  struct RankState {
    i64 busy_until = 0;
    i64 looked_at = -1, looked_number = -1;   // the last step: its time, and the number of the next event then
    bool finished = false;
  };

  i64 node_of(i64 rank) const { return topology_.node_of_rank[static_cast<size_t>(rank)]; }
  std::shared_ptr<Meeting> meet(const Key& key, bool sending);
  void launch(Meeting& meeting);
  i64 cross(Meeting& meeting, i64 start_ns);
  void read_clock();                 // what was computed since the last reading has taken its time
  void start_clock();                // what was computed since then has taken none
  void charge_message(i64 bytes);    // the same, but that of a message
  i64& core_of(i64 rank);            // the first one of its node that is free: until when it is busy
  bool step(i64 rank, i64 at_ns, const std::function<bool()>& task);

  const ClusterModel model_;
  Topology topology_;
  const i64 reading_ns_;                     // what a reading of the clock costs
  std::vector<std::vector<i64>> members_;    // of each node
  std::vector<std::unique_ptr<Comm>> comms_;
  std::map<Key, Queue> queues_;
  std::set<std::pair<i64, i64>> connected_;  // ranks, if connecting takes time
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<RankState> states_;
  std::vector<std::vector<i64>> cores_;      // of each node or of all: until when each is busy
  struct Links {
    i64 out = 0, in = 0;                     // until when each is busy
  };
  std::vector<Links> node_links_, switch_links_, memories_;
  ClusterCounts counts_;
  i64 next_event_ = 0, running_ = -1, now_ns_ = 0, clock_ns_ = 0, began_ns_ = 0, latest_ns_ = 0;
};

}  // namespace mercutio::scale
