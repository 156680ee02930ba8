#include "comm/in_process.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/thread_annotations.h"
#include "comm/local_segment.h"

namespace mercutio {
namespace {

// One sent message. `data` is the sender's buffer, or `copy` when it was small enough. `taken` is set under the
// receiver's mutex, so a sender that gives up never has its buffer read afterwards.
struct Parcel {
  ConstBytes data;
  std::vector<std::byte> copy;
  std::atomic<bool> taken{false};
};

struct Mailbox {
  i64 sent = 0;       // number of the next message
  i64 received = 0;   // number of the next receive
  std::map<i64, std::shared_ptr<Parcel>> waiting;
};

struct Inbox {
  std::mutex mutex;
  std::map<std::pair<i64, i64>, Mailbox> boxes MERCUTIO_GUARDED_BY(mutex);   // (from, tag)
};

struct World {
  explicit World(i64 ranks) : inboxes(static_cast<size_t>(ranks)) {}
  Topology topology;
  std::vector<Inbox> inboxes;
  std::mutex mutex;
  std::map<i64, std::shared_ptr<std::atomic<i64>>> counters MERCUTIO_GUARDED_BY(mutex);   // by order of creation
};
using WorldRef = std::shared_ptr<World>;

// Drops mailboxes nothing waits in, so that memory does not grow with the number of tags ever used.
void drop_if_idle(Inbox& inbox, std::pair<i64, i64> key) MERCUTIO_REQUIRES(inbox.mutex) {
  auto found = inbox.boxes.find(key);
  if (found == inbox.boxes.end()) return;
  const Mailbox& box = found->second;
  if (box.waiting.empty() && box.sent == box.received) inbox.boxes.erase(found);
}

class SendMessage final : public Message {
 public:
  SendMessage(WorldRef world, Inbox& inbox, std::shared_ptr<Parcel> parcel)
      : world_(std::move(world)), inbox_(inbox), parcel_(std::move(parcel)) {}
  ~SendMessage() override {
    if (parcel_->taken || !parcel_->copy.empty() || parcel_->data.empty()) return;
    // Given up while the receiver may still come: leave it a copy, so that the caller's buffer may die.
    std::lock_guard lock(inbox_.mutex);
    if (parcel_->taken) return;
    parcel_->copy.assign(parcel_->data.begin(), parcel_->data.end());
    parcel_->data = parcel_->copy;
  }
  Result<bool> test() override { return parcel_->taken || !parcel_->copy.empty() || parcel_->data.empty(); }

 private:
  WorldRef world_;
  Inbox& inbox_;
  std::shared_ptr<Parcel> parcel_;
};

class ReceiveMessage final : public Message {
 public:
  ReceiveMessage(WorldRef world, Inbox& inbox, std::pair<i64, i64> key, i64 number, Bytes data)
      : world_(std::move(world)), inbox_(inbox), key_(key), number_(number), data_(data) {}

  Result<bool> test() override {
    if (done_) return true;
    std::lock_guard lock(inbox_.mutex);
    auto box = inbox_.boxes.find(key_);
    if (box == inbox_.boxes.end()) return false;
    auto found = box->second.waiting.find(number_);
    if (found == box->second.waiting.end()) return false;
    std::shared_ptr<Parcel> parcel = std::move(found->second);
    box->second.waiting.erase(found);
    done_ = true;
    const bool fits = parcel->data.size() == data_.size();
    if (fits && !data_.empty()) std::memcpy(data_.data(), parcel->data.data(), data_.size());
    parcel->taken = true;
    drop_if_idle(inbox_, key_);
    if (!fits) {
      return Error{ErrorClass::kTruncate, "a message of " + std::to_string(parcel->data.size()) + " bytes came where " +
                                              std::to_string(data_.size()) + " were expected"};
    }
    return true;
  }

 private:
  WorldRef world_;
  Inbox& inbox_;
  std::pair<i64, i64> key_;
  i64 number_;
  Bytes data_;
  bool done_ = false;
};

class AtomicCounter final : public SharedCounter {
 public:
  explicit AtomicCounter(std::shared_ptr<std::atomic<i64>> value) : value_(std::move(value)) {}
  Result<i64> fetch_add(i64 delta) override { return value_->fetch_add(delta); }
  Result<i64> load() override { return value_->load(); }
  Status store(i64 value) override {
    value_->store(value);
    return ok_status();
  }

 private:
  std::shared_ptr<std::atomic<i64>> value_;
};

class InProcessComm final : public Comm {
 public:
  InProcessComm(WorldRef world, i64 rank, std::unique_ptr<Segment> segment) : world_(std::move(world)), rank_(rank), segment_(std::move(segment)) {}

  i64 rank() const override { return rank_; }
  i64 size() const override { return static_cast<i64>(world_->inboxes.size()); }
  i64 tags() const override { return i64{1} << 20; }
  const Topology& topology() const override { return world_->topology; }
  std::string host() const override {
    const auto& topology = world_->topology;
    return topology.node_names[static_cast<size_t>(topology.node_of_rank[static_cast<size_t>(rank_)])];
  }
  bool concurrent() const override { return true; }

  Result<std::unique_ptr<Message>> send(i64 to, i64 tag, ConstBytes data) override {
    if (to < 0 || to >= size()) return Error{ErrorClass::kComm, "send to a rank that does not exist"};
    auto parcel = std::make_shared<Parcel>();
    parcel->data = data;
    if (static_cast<i64>(data.size()) <= kInProcessEagerBytes) {
      parcel->copy.assign(data.begin(), data.end());
      parcel->data = parcel->copy;
    }
    Inbox& inbox = world_->inboxes[static_cast<size_t>(to)];
    {
      std::lock_guard lock(inbox.mutex);
      Mailbox& box = inbox.boxes[{rank_, tag}];
      box.waiting.emplace(box.sent++, parcel);
    }
    return std::unique_ptr<Message>(std::make_unique<SendMessage>(world_, inbox, std::move(parcel)));
  }

  Result<std::unique_ptr<Message>> receive(i64 from, i64 tag, Bytes data) override {
    if (from < 0 || from >= size()) return Error{ErrorClass::kComm, "receive from a rank that does not exist"};
    Inbox& inbox = world_->inboxes[static_cast<size_t>(rank_)];
    std::pair<i64, i64> key{from, tag};
    i64 number = 0;
    {
      std::lock_guard lock(inbox.mutex);
      number = inbox.boxes[key].received++;
    }
    return std::unique_ptr<Message>(std::make_unique<ReceiveMessage>(world_, inbox, key, number, data));
  }

  Result<std::unique_ptr<SharedCounter>> make_shared_counter(const std::string& /*folder*/) override {
    std::lock_guard lock(world_->mutex);
    auto& value = world_->counters[counters_made_++];
    if (!value) value = std::make_shared<std::atomic<i64>>(0);
    return std::unique_ptr<SharedCounter>(std::make_unique<AtomicCounter>(value));
  }

  Segment* segment() override { return segment_.get(); }

  void backoff(i64 spins) override {
    if (spins < 64) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(spins < 256 ? 20 : 100));
    }
  }

 private:
  WorldRef world_;
  i64 rank_;
  std::unique_ptr<Segment> segment_;
  i64 counters_made_ = 0;   // counters are made collectively, so the order names them
};

}  // namespace

std::vector<std::unique_ptr<Comm>> make_in_process_world(i64 ranks, Topology topology, bool shared_memory) {
  auto world = std::make_shared<World>(ranks);
  world->topology = std::move(topology);
  if (world->topology.ranks() != ranks) {
    world->topology = Topology{std::vector<i64>(static_cast<size_t>(ranks), 0), {"localhost"}};
  }
  std::vector<std::unique_ptr<Segment>> segments;
  if (shared_memory) segments = make_local_segments(world->topology);
  segments.resize(static_cast<size_t>(ranks));
  std::vector<std::unique_ptr<Comm>> comms;
  for (i64 rank = 0; rank < ranks; ++rank) {
    comms.push_back(std::make_unique<InProcessComm>(world, rank, std::move(segments[static_cast<size_t>(rank)])));
  }
  return comms;
}

void run_ranks(i64 ranks, const std::function<void(Comm&)>& body, Topology topology, bool shared_memory) {
  auto comms = make_in_process_world(ranks, std::move(topology), shared_memory);
  std::vector<std::thread> threads;
  for (auto& comm : comms) threads.emplace_back([&body, &comm] { body(*comm); });
  for (auto& thread : threads) thread.join();
}

}  // namespace mercutio
