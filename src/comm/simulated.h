// Comm for ranks that are tasks of one thread, under a seeded scheduler: the same seed gives the same interleaving, so a
// failure can be run again. Time is counted in steps of the scheduler. Messages of one (from, to, tag) arrive in the order
// sent, all others in any order; a send is complete at once or only when it was received, as the seed decides.
//
// The network fails on request: the n-th start or completion of a message reports an Error instead. A rank that is told so
// stops taking part, and its partners may wait for ever, which run() reports like every deadlock: nobody can go on and
// nothing is on its way.
//
// Cost: a step is O(1) beyond what the rank does in it; not for several threads.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/comm.h"

namespace mercutio {

struct SimulationOptions {
  std::uint64_t seed = 1;
  i64 longest_delay = 40;     // steps a message may be on its way
  i64 fail_at = -1;           // the message operation that fails, from 0, counted over all ranks; -1: none
  i64 most_steps = 1 << 24;   // after which run() gives up
  bool shared_memory = false;   // the ranks of a node share memory, where any node has more than one
};

struct SimulatedWorld;

// A counter of ranks that one thread simulates.
std::unique_ptr<SharedCounter> make_simulated_counter(std::shared_ptr<i64> value);

class Simulation {
 public:
  enum class End {
    kDone,       // every rank's work came to its end
    kDeadlock,   // some wait and nothing can ever come
    kTooLong,    // more than most_steps
  };

  // An empty topology means: all on one node.
  Simulation(i64 ranks, const SimulationOptions& options, Topology topology = {});
  ~Simulation();
  Comm& comm(i64 rank);

  // One call of `step` advances a piece of work as far as it can; true when it is over. Any number of pieces may belong to a
  // rank. Calls those that are not over in random order.
  End run(std::vector<std::function<bool()>> steps);

  // To be called when something else than a message moved: storage that takes its time.
  void something_moved();
  bool failed() const;        // the operation to fail was met
  i64 steps() const;          // so far

 private:
  std::shared_ptr<SimulatedWorld> world_;
  std::vector<std::unique_ptr<Comm>> comms_;
};

}  // namespace mercutio
