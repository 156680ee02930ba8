// A job of simulated ranks, all in one thread: each has a fiber for the program and one that drives what was started, in
// an order that the seed says. A rank that dies takes part in nothing any more; the others learn of it some time later, each by
// itself.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "comm/simulated.h"
#include "engine/progress/progress.h"
#include "faults/fault.h"
#include "faults/fiber.h"

namespace mercutio::programs {

struct Died {};  // thrown where the rank waits

struct JobOptions {
  std::uint64_t seed = 1;
  i64 longest_delay = 0;
  Topology topology;
  bool shares_memory = true;  // the ranks of a node
  Fault fault;
};

class RankProgress;
class NodeMemory;

class SimulatedJob {
 public:
  explicit SimulatedJob(const JobOptions& options);
  ~SimulatedJob();
  SimulatedJob(const SimulatedJob&) = delete;
  SimulatedJob& operator=(const SimulatedJob&) = delete;

  // `body` is run once for each rank.
  [[nodiscard]] Simulation::End run(const std::function<void(i64 rank)>& body);

  // By the rank that runs. `number` is the same for the ranks of a communicator and not used twice.
  [[nodiscard]] std::unique_ptr<Comm> make_comm(std::vector<i64> members, i64 number);
  [[nodiscard]] Progress& progress();
  [[nodiscard]] i64 rank() const { return current_; }
  void enter_step(i64 step);
  void barrier();  // of those that live
  void wait();     // until the others have had their turn; the rank may die here
  void abandon();  // what the dead rank has started

  [[nodiscard]] i64 step_of_rank(i64 rank) const;  // in which it is; -1: it has ended

  void moved();  // something happened that others may wait for
  [[nodiscard]] Simulation& simulation() { return simulation_; }
  [[nodiscard]] bool somebody_died() const { return dead_ >= 0; }
  [[nodiscard]] bool is_dead(i64 rank) const { return rank == dead_; }
  // Whether `rank` knows that one of these has died.
  [[nodiscard]] bool knows_of_death(i64 rank, const std::vector<i64>& members);
  [[nodiscard]] std::shared_ptr<i64> counter(const std::vector<i64>& members, i64 number);
  [[nodiscard]] mercutio::Segment* segment(const std::vector<i64>& members, i64 rank);
  [[nodiscard]] const Topology& topology() const { return options_.topology; }
  [[nodiscard]] i64 ranks() const { return options_.topology.ranks(); }

 private:
  struct Rank {
    std::unique_ptr<RankProgress> progress;
    std::unique_ptr<Fiber> own, driver;
    std::map<std::vector<i64>, std::unique_ptr<mercutio::Segment>> segments;
    i64 step = -1, learns_after = 0;
    bool over = false, at_barrier = false;
  };
  [[nodiscard]] Rank& at(i64 rank) { return ranks_[static_cast<size_t>(rank)]; }
  [[nodiscard]] std::function<bool()> step_of(i64 rank, Fiber& fiber);
  [[nodiscard]] bool is_time_to_die() const;

  const JobOptions options_;
  Simulation simulation_;
  std::vector<Rank> ranks_;
  std::map<std::pair<std::vector<i64>, i64>, std::shared_ptr<i64>> counters_;
  std::map<std::pair<std::vector<i64>, i64>, std::shared_ptr<NodeMemory>> memories_;  // of the nodes
  i64 current_ = 0, dead_ = -1, died_at_ = 0, waits_ = 0;  // waits_: of who is to die
  i64 quiet_ = 0;  // waits since something moved
  i64 at_barrier_ = 0, barriers_ = 0;
};

}  // namespace mercutio::programs
