#include "faults/job.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "faults/progress.h"

namespace mercutio::programs {

// Pages come when they are touched.
class NodeMemory {
 public:
  explicit NodeMemory(i64 bytes) : bytes_(bytes) {
    void* at = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) std::abort();
    data_ = static_cast<std::byte*>(at);
  }
  ~NodeMemory() { munmap(data_, static_cast<size_t>(bytes_)); }
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] i64 bytes() const { return bytes_; }

 private:
  std::byte* data_;
  i64 bytes_;
};

namespace {

constexpr i64 kPatience = 20000;  // waits of all ranks in which nothing moves: what is copied in shared memory is not seen here

class SharedSegment final : public mercutio::Segment {
 public:
  SharedSegment(SimulatedJob& job, std::shared_ptr<NodeMemory> memory) : job_(job), memory_(std::move(memory)) {}
  ~SharedSegment() override { attached.reset(); }  // it is about the memory
  std::byte* data() override { return memory_->data(); }
  void wake(i64) override { job_.moved(); }

 private:
  SimulatedJob& job_;
  std::shared_ptr<NodeMemory> memory_;
};

Topology topology_of(const Topology& job, const std::vector<i64>& members) {
  Topology topology;
  for (const i64 member : members) {
    const std::string& name = job.node_names[static_cast<size_t>(job.node_of_rank[static_cast<size_t>(member)])];
    const auto known = std::find(topology.node_names.begin(), topology.node_names.end(), name);
    topology.node_of_rank.push_back(known - topology.node_names.begin());
    if (known == topology.node_names.end()) topology.node_names.push_back(name);
  }
  return topology;
}

// The communicator of some ranks of the job.
class MembersComm final : public Comm {
 public:
  MembersComm(SimulatedJob& job, std::vector<i64> members, i64 number)
      : job_(job), members_(std::move(members)), number_(number), world_rank_(job.rank()), inner_(job.simulation().comm(job.rank())),
        topology_(topology_of(job.topology(), members_)), segment_(job.segment(members_, world_rank_)) {
    rank_ = std::find(members_.begin(), members_.end(), world_rank_) - members_.begin();
    if (segment_) topology_.segment_bytes = kSegmentBytesPerRank;
  }
  i64 rank() const override { return rank_; }
  i64 size() const override { return static_cast<i64>(members_.size()); }
  i64 tags() const override { return kTags; }
  const Topology& topology() const override { return topology_; }
  std::string host() const override { return topology_.node_names[static_cast<size_t>(topology_.node_of_rank[static_cast<size_t>(rank_)])]; }
  bool concurrent() const override { return false; }
  Result<std::unique_ptr<Message>> send(i64 to, i64 tag, ConstBytes data) override {
    job_.moved();
    return inner_.send(world_rank(to), number_ * kTags + tag, data);
  }
  Result<std::unique_ptr<Message>> receive(i64 from, i64 tag, Bytes data) override {
    job_.moved();
    return inner_.receive(world_rank(from), number_ * kTags + tag, data);
  }
  Result<std::unique_ptr<SharedCounter>> make_shared_counter(const std::string& /*folder*/) override {
    return make_simulated_counter(job_.counter(members_, number_));
  }
  mercutio::Segment* segment() override { return segment_; }
  void backoff(i64) override { job_.wait(); }
  bool failed(bool) override { return job_.knows_of_death(world_rank_, members_); }
  void poll_mpi() override { Fiber::give_way(); }

 private:
  static constexpr i64 kTags = i64{1} << 16;
  [[nodiscard]] i64 world_rank(i64 rank) const { return members_[static_cast<size_t>(rank)]; }

  SimulatedJob& job_;
  const std::vector<i64> members_;
  const i64 number_, world_rank_;
  Comm& inner_;
  Topology topology_;
  mercutio::Segment* segment_;
  i64 rank_ = 0;
};

}  // namespace

SimulatedJob::SimulatedJob(const JobOptions& options)
    : options_(options), simulation_(options.topology.ranks(), SimulationOptions{options.seed, options.longest_delay}, options.topology),
      ranks_(static_cast<size_t>(options.topology.ranks())) {
  i64 learns_after = options.fault.waits * 7 % 90;
  for (Rank& rank : ranks_) {
    rank.progress = std::make_unique<RankProgress>(*this);
    rank.learns_after = learns_after = (learns_after * 5 + 11) % 400;
  }
}

SimulatedJob::~SimulatedJob() = default;

Simulation::End SimulatedJob::run(const std::function<void(i64 rank)>& body) {
  std::vector<std::function<bool()>> steps;
  for (i64 r = 0; r < ranks(); ++r) {
    Rank& rank = at(r);
    rank.own = std::make_unique<Fiber>([this, &body, r] {
      body(r);
      at(r).over = true;
    });
    rank.driver = std::make_unique<Fiber>([&rank] {
      while (!rank.over || !rank.progress->idle()) {
        rank.progress->drive();
        Fiber::give_way();
      }
    });
    steps.push_back(step_of(r, *rank.own));
    steps.push_back(step_of(r, *rank.driver));
  }
  return simulation_.run(std::move(steps));
}

std::function<bool()> SimulatedJob::step_of(i64 rank, Fiber& fiber) {
  return [this, rank, &fiber] {
    if (++quiet_ < kPatience) simulation_.something_moved();
    current_ = rank;
    return fiber.resume();
  };
}

std::unique_ptr<Comm> SimulatedJob::make_comm(std::vector<i64> members, i64 number) {
  return std::make_unique<MembersComm>(*this, std::move(members), number);
}

Progress& SimulatedJob::progress() { return *at(current_).progress; }

void SimulatedJob::moved() {
  quiet_ = 0;
  simulation_.something_moved();
}

void SimulatedJob::enter_step(i64 step) {
  moved();
  at(current_).step = step;
}

i64 SimulatedJob::step_of_rank(i64 rank) const {
  const Rank& asked = ranks_[static_cast<size_t>(rank)];
  return asked.over ? -1 : asked.step;
}

void SimulatedJob::barrier() {
  const i64 mine = barriers_;
  ++at_barrier_;
  at(current_).at_barrier = true;
  while (mine == barriers_) {
    if (at_barrier_ >= ranks() - (dead_ >= 0 ? 1 : 0)) {
      ++barriers_;
      at_barrier_ = 0;
      for (Rank& rank : ranks_) rank.at_barrier = false;
      moved();
      return;
    }
    wait();
  }
}

bool SimulatedJob::is_time_to_die() const {
  const Fault& fault = options_.fault;
  if (fault.kind != Fault::Kind::kDeath || current_ != fault.rank || dead_ >= 0 || step_of_rank(current_) < fault.step) return false;
  return waits_ >= fault.waits && !ranks_[static_cast<size_t>(current_)].progress->driving();
}

void SimulatedJob::wait() {
  Fiber::give_way();
  if (current_ == options_.fault.rank && step_of_rank(current_) >= options_.fault.step) ++waits_;
  if (!is_time_to_die()) return;
  dead_ = current_;
  if (at(dead_).at_barrier) --at_barrier_;  // which is not over
  died_at_ = simulation_.steps();
  throw Died();
}

void SimulatedJob::abandon() { at(dead_).progress->abandon(); }

bool SimulatedJob::knows_of_death(i64 rank, const std::vector<i64>& members) {
  if (dead_ < 0 || std::find(members.begin(), members.end(), dead_) == members.end()) return false;
  if (simulation_.steps() - died_at_ >= at(rank).learns_after) return true;
  moved();  // it will
  return false;
}

std::shared_ptr<i64> SimulatedJob::counter(const std::vector<i64>& members, i64 number) {
  auto& value = counters_[{members, number}];
  if (!value) value = std::make_shared<i64>(0);
  return value;
}

// As an MPI has it: one for all files of a communicator's ranks.
mercutio::Segment* SimulatedJob::segment(const std::vector<i64>& members, i64 rank) {
  const Topology topology = topology_of(options_.topology, members);
  if (!options_.shares_memory || topology.nodes() == topology.ranks()) return nullptr;
  std::unique_ptr<mercutio::Segment>& segment = at(rank).segments[members];
  if (!segment) {
    const i64 node = options_.topology.node_of_rank[static_cast<size_t>(rank)];
    const auto here = std::count_if(members.begin(), members.end(), [&](i64 member) {
      return options_.topology.node_of_rank[static_cast<size_t>(member)] == node;
    });
    std::shared_ptr<NodeMemory>& memory = memories_[{members, node}];
    if (!memory) memory = std::make_shared<NodeMemory>(here * kSegmentBytesPerRank);
    segment = std::make_unique<SharedSegment>(*this, memory);
  }
  return segment.get();
}

}  // namespace mercutio::programs
