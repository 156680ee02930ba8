#include "comm/simulated.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <tuple>
#include <utility>

#include "comm/local_segment.h"

namespace mercutio {

struct SimulatedWorld {
  // One message: on its way from when it was sent, here from `arrives` on.
  struct Parcel {
    ConstBytes data;                 // the sender's buffer, or `copy`
    std::vector<std::byte> copy;
    i64 arrives = 0;
    bool taken = false;
  };
  // Messages and receives of one (from, to, tag) are numbered; receive n takes message n.
  struct PairQueue {
    i64 sent = 0, received = 0, last_arrival = 0;
    std::map<i64, std::shared_ptr<Parcel>> waiting;
  };
  using Key = std::tuple<i64, i64, i64>;   // from, to, tag

  Topology topology;
  SimulationOptions options;
  std::mt19937_64 random;
  std::map<Key, PairQueue> queues;
  std::map<i64, std::shared_ptr<i64>> counters;   // by order of creation
  i64 operations = 0;
  i64 now = 0;
  i64 last_move = 0;     // when something moved last
  i64 in_flight_until = 0;   // the latest arrival so far
  bool failed = false;

  i64 pick(i64 below) { return static_cast<i64>(random() % static_cast<std::uint64_t>(below)); }
  void moved() { last_move = now; }
  bool fails() {
    if (operations++ != options.fail_at) return false;
    failed = true;
    return true;
  }
  static Error failure() { return Error{ErrorClass::kComm, "a message failed on purpose"}; }
  void drop_if_idle(const Key& key) {
    auto found = queues.find(key);
    if (found != queues.end() && found->second.waiting.empty() && found->second.sent == found->second.received) queues.erase(found);
  }
};

namespace {

using World = std::shared_ptr<SimulatedWorld>;
using Parcel = SimulatedWorld::Parcel;

class SimulatedSend final : public Message {
 public:
  SimulatedSend(World world, std::shared_ptr<Parcel> parcel) : world_(std::move(world)), parcel_(std::move(parcel)) {}
  ~SimulatedSend() override {
    if (complete()) return;   // given up while the receiver may still come: the caller's buffer may die
    parcel_->copy.assign(parcel_->data.begin(), parcel_->data.end());
    parcel_->data = parcel_->copy;
  }
  Result<bool> test() override {
    if (seen_ || !complete()) return seen_;
    if (world_->fails()) return SimulatedWorld::failure();
    seen_ = true;
    world_->moved();
    return true;
  }

 private:
  bool complete() const { return parcel_->taken || !parcel_->copy.empty() || parcel_->data.empty(); }
  World world_;
  std::shared_ptr<Parcel> parcel_;
  bool seen_ = false;
};

class SimulatedReceive final : public Message {
 public:
  SimulatedReceive(World world, SimulatedWorld::Key key, i64 number, Bytes data)
      : world_(std::move(world)), key_(key), number_(number), data_(data) {}
  Result<bool> test() override {
    if (done_) return true;
    auto queue = world_->queues.find(key_);
    if (queue == world_->queues.end()) return false;
    auto found = queue->second.waiting.find(number_);
    if (found == queue->second.waiting.end() || found->second->arrives > world_->now) return false;
    if (world_->fails()) return SimulatedWorld::failure();
    const std::shared_ptr<Parcel> parcel = std::move(found->second);
    queue->second.waiting.erase(found);
    done_ = parcel->taken = true;
    world_->moved();
    world_->drop_if_idle(key_);
    if (parcel->data.size() != data_.size()) {
      return Error{ErrorClass::kTruncate, "a message of " + std::to_string(parcel->data.size()) + " bytes came where " +
                                              std::to_string(data_.size()) + " were expected"};
    }
    if (!data_.empty()) std::memcpy(data_.data(), parcel->data.data(), data_.size());
    return true;
  }

 private:
  World world_;
  SimulatedWorld::Key key_;
  i64 number_;
  Bytes data_;
  bool done_ = false;
};

class SimulatedCounter final : public SharedCounter {
 public:
  explicit SimulatedCounter(std::shared_ptr<i64> value) : value_(std::move(value)) {}
  Result<i64> fetch_add(i64 delta) override { return std::exchange(*value_, *value_ + delta); }
  Result<i64> load() override { return *value_; }
  Status store(i64 value) override {
    *value_ = value;
    return ok_status();
  }

 private:
  std::shared_ptr<i64> value_;
};

}  // namespace

std::unique_ptr<SharedCounter> make_simulated_counter(std::shared_ptr<i64> value) {
  return std::make_unique<SimulatedCounter>(std::move(value));
}

namespace {

// Who is woken has something to look at.
class SimulatedSegment final : public Segment {
 public:
  SimulatedSegment(World world, std::unique_ptr<Segment> memory) : world_(std::move(world)), memory_(std::move(memory)) {}
  std::byte* data() override { return memory_->data(); }
  void wake(i64) override { world_->moved(); }

 private:
  World world_;
  std::unique_ptr<Segment> memory_;
};

class SimulatedComm final : public Comm {
 public:
  SimulatedComm(World world, i64 rank, std::unique_ptr<Segment> segment) : world_(std::move(world)), rank_(rank), segment_(std::move(segment)) {}

  i64 rank() const override { return rank_; }
  i64 size() const override { return world_->topology.ranks(); }
  i64 tags() const override { return i64{1} << 20; }
  const Topology& topology() const override { return world_->topology; }
  std::string host() const override {
    const Topology& topology = world_->topology;
    return topology.node_names[static_cast<size_t>(topology.node_of_rank[static_cast<size_t>(rank_)])];
  }
  bool concurrent() const override { return false; }

  Result<std::unique_ptr<Message>> send(i64 to, i64 tag, ConstBytes data) override {
    if (to < 0 || to >= size()) return Error{ErrorClass::kComm, "send to a rank that does not exist"};
    if (world_->fails()) return SimulatedWorld::failure();
    auto parcel = std::make_shared<Parcel>();
    parcel->data = data;
    if (world_->pick(2) == 0) {
      parcel->copy.assign(data.begin(), data.end());
      parcel->data = parcel->copy;
    }
    SimulatedWorld::PairQueue& queue = world_->queues[{rank_, to, tag}];
    parcel->arrives = std::max(queue.last_arrival, world_->now + world_->pick(world_->options.longest_delay + 1));
    queue.last_arrival = parcel->arrives;
    queue.waiting.emplace(queue.sent++, parcel);
    world_->in_flight_until = std::max(world_->in_flight_until, parcel->arrives);
    world_->moved();
    return std::unique_ptr<Message>(std::make_unique<SimulatedSend>(world_, std::move(parcel)));
  }

  Result<std::unique_ptr<Message>> receive(i64 from, i64 tag, Bytes data) override {
    if (from < 0 || from >= size()) return Error{ErrorClass::kComm, "receive from a rank that does not exist"};
    if (world_->fails()) return SimulatedWorld::failure();
    const SimulatedWorld::Key key{from, rank_, tag};
    const i64 number = world_->queues[key].received++;
    world_->moved();
    return std::unique_ptr<Message>(std::make_unique<SimulatedReceive>(world_, key, number, data));
  }

  Result<std::unique_ptr<SharedCounter>> make_shared_counter(const std::string& /*folder*/) override {
    auto& value = world_->counters[counters_made_++];
    if (!value) value = std::make_shared<i64>(0);
    return make_simulated_counter(value);
  }

  Segment* segment() override { return segment_.get(); }
  void backoff(i64) override {}   // a piece of work that waits returns to the scheduler

 private:
  World world_;
  i64 rank_;
  std::unique_ptr<Segment> segment_;
  i64 counters_made_ = 0;   // counters are made collectively, so the order names them
};

// Polls without any movement, of every piece of work, that count as a deadlock. One would do if all waited for messages only.
constexpr i64 kFruitlessPolls = 64;

}  // namespace

Simulation::Simulation(i64 ranks, const SimulationOptions& options, Topology topology)
    : world_(std::make_shared<SimulatedWorld>()) {
  world_->options = options;
  world_->random.seed(options.seed);
  world_->topology = std::move(topology);
  if (world_->topology.ranks() != ranks) {
    world_->topology = Topology{std::vector<i64>(static_cast<size_t>(ranks), 0), {"localhost"}};
  }
  std::vector<std::unique_ptr<Segment>> segments;
  if (options.shared_memory) segments = make_local_segments(world_->topology);
  for (std::unique_ptr<Segment>& segment : segments) segment = std::make_unique<SimulatedSegment>(world_, std::move(segment));
  segments.resize(static_cast<size_t>(ranks));
  for (i64 rank = 0; rank < ranks; ++rank) {
    comms_.push_back(std::make_unique<SimulatedComm>(world_, rank, std::move(segments[static_cast<size_t>(rank)])));
  }
}

Simulation::~Simulation() = default;

Comm& Simulation::comm(i64 rank) { return *comms_[static_cast<size_t>(rank)]; }
void Simulation::something_moved() { world_->moved(); }
bool Simulation::failed() const { return world_->failed; }
i64 Simulation::steps() const { return world_->now; }

Simulation::End Simulation::run(std::vector<std::function<bool()>> steps) {
  SimulatedWorld& world = *world_;
  world.moved();
  i64 fruitless = 0;   // polls since something moved and everything sent has arrived
  while (!steps.empty()) {
    if (++world.now > world.options.most_steps) return End::kTooLong;
    const size_t chosen = static_cast<size_t>(world.pick(static_cast<i64>(steps.size())));
    if (steps[chosen]()) {
      std::swap(steps[chosen], steps.back());
      steps.pop_back();
      world.moved();
    }
    const bool quiet = world.last_move < world.now && world.in_flight_until < world.now;
    fruitless = quiet ? fruitless + 1 : 0;
    if (fruitless > kFruitlessPolls * static_cast<i64>(steps.size())) return End::kDeadlock;
  }
  return End::kDone;
}

}  // namespace mercutio
