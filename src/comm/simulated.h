// A Comm for ranks that are tasks of one thread, under a seeded scheduler. The same seed gives the same interleaving, so a failure
// can be reproduced. Time is counted in steps of the scheduler. Messages of one (from, to, tag) arrive in the order sent, all
// others in any order. The seed decides whether a send completes at once or when it is received.
//
// The network fails on request: the n-th start or completion of a message reports an Error instead. The rank that gets this Error
// stops, and its partners may wait for ever. run() reports that like every deadlock: no rank can go on and no message is in flight.
//
// Cost: a step is O(1) beyond the work of the rank. Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "comm/comm.h"

namespace mercutio {

struct SimulationOptions {
  std::uint64_t seed = 1;
  i64 longest_delay = 40;     // of a message, in steps
  i64 fail_at = -1;           // the message operation that fails, from 0, counted over all ranks; -1: none
  i64 most_steps = 1 << 24;   // run() gives up after them
  bool shared_memory = false;   // ranks of a node share memory, if any node has more than one rank
};

struct SimulatedWorld;

// A counter of ranks that one thread simulates.
std::unique_ptr<SharedCounter> make_simulated_counter(std::shared_ptr<i64> value);

class Simulation {
 public:
  enum class End {
    kDone,       // every rank finished its work
    kDeadlock,   // ranks wait and no message is in flight
    kTooLong,    // more than most_steps
  };

  // An empty topology means: all on one node.
  Simulation(i64 ranks, const SimulationOptions& options, Topology topology = {});
  ~Simulation();
  Comm& comm(i64 rank);

  // `step` advances a task as far as possible and returns true when it is finished. A rank may have any number of tasks. Unfinished
  // tasks are called in random order.
  End run(std::vector<std::function<bool()>> steps);

  // Must be called after progress other than by a message, such as a transfer of slow storage.
  void something_moved();
  bool failed() const;        // whether the injected failure has happened
  i64 steps() const;          // so far

 private:
  std::shared_ptr<SimulatedWorld> world_;
  std::vector<std::unique_ptr<Comm>> comms_;
};

}  // namespace mercutio
