#include "virtual_cluster.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/assert.h"
#include "comm/local_segment.h"
#include "comm/simulated.h"

namespace mercutio::scale {
namespace {

i64 processor_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return i64{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// What a reading of that clock costs: the least of several.
i64 cost_of_reading() {
  i64 least = 1'000'000;
  for (int i = 0; i < 100; ++i) {
    const i64 before = processor_ns();
    least = std::min(least, processor_ns() - before);
  }
  return least;
}

}  // namespace

class VirtualSend final : public Message {
 public:
  VirtualSend(VirtualCluster& cluster, std::shared_ptr<VirtualCluster::Meeting> meeting) : cluster_(cluster), meeting_(std::move(meeting)) {}
  ~VirtualSend() override { keep_data(); }
  Result<bool> test() override {
    if (meeting_->sender_free_at < 0 || meeting_->sender_free_at > cluster_.now()) return false;
    keep_data();
    return true;
  }

 private:
  void keep_data() {
    cluster_.read_clock();
    meeting_->keep_data();
    cluster_.start_clock();
  }
  VirtualCluster& cluster_;
  std::shared_ptr<VirtualCluster::Meeting> meeting_;
};

class VirtualReceive final : public Message {
 public:
  VirtualReceive(VirtualCluster& cluster, std::shared_ptr<VirtualCluster::Meeting> meeting, Bytes into)
      : cluster_(cluster), meeting_(std::move(meeting)), into_(into) {}
  Result<bool> test() override {
    if (done_) return true;
    if (meeting_->arrives_at < 0 || meeting_->arrives_at > cluster_.now()) return false;
    const ConstBytes data = meeting_->data;
    if (data.size() != into_.size()) {
      return Error{ErrorClass::kTruncate, "a message of " + std::to_string(data.size()) + " bytes came where " + std::to_string(into_.size()) + " were expected"};
    }
    cluster_.read_clock();
    if (!data.empty()) std::memcpy(into_.data(), data.data(), data.size());
    cluster_.charge_message(std::ssize(data));
    meeting_->received = true;
    return done_ = true;
  }

 private:
  VirtualCluster& cluster_;
  std::shared_ptr<VirtualCluster::Meeting> meeting_;
  Bytes into_;
  bool done_ = false;
};

class VirtualSegment final : public Segment {
 public:
  VirtualSegment(VirtualCluster& cluster, i64 node, std::unique_ptr<Segment> memory) : cluster_(cluster), node_(node), memory_(std::move(memory)) {}
  std::byte* data() override { return memory_->data(); }
  void wake(i64 i) override {
    ++cluster_.counts_.wakes;
    const i64 rank = cluster_.members_[static_cast<size_t>(node_)][static_cast<size_t>(i)];
    cluster_.look_at(rank, cluster_.now() + cluster_.model_.wake_ns);
  }

 private:
  VirtualCluster& cluster_;
  i64 node_;
  std::unique_ptr<Segment> memory_;
};

class VirtualComm final : public Comm {
 public:
  VirtualComm(VirtualCluster& cluster, i64 rank, std::unique_ptr<Segment> segment) : cluster_(cluster), rank_(rank), segment_(std::move(segment)) {}

  i64 rank() const override { return rank_; }
  i64 size() const override { return cluster_.ranks(); }
  i64 tags() const override { return i64{1} << 20; }
  const Topology& topology() const override { return cluster_.topology_; }
  std::string host() const override { return cluster_.topology_.node_names[static_cast<size_t>(cluster_.node_of(rank_))]; }
  bool concurrent() const override { return false; }

  Result<std::unique_ptr<Message>> send(i64 to, i64 tag, ConstBytes data) override {
    auto meeting = cluster_.meet({rank_, to, tag}, /*sending=*/true);
    meeting->eager = std::ssize(data) <= cluster_.model_.eager_bytes;
    meeting->data = data;
    cluster_.read_clock();
    if (meeting->eager) meeting->keep_data();
    cluster_.charge_message(std::ssize(data));
    meeting->sent_at = cluster_.now();
    if (meeting->eager) meeting->sender_free_at = meeting->sent_at;
    cluster_.launch(*meeting);
    return std::unique_ptr<Message>(std::make_unique<VirtualSend>(cluster_, std::move(meeting)));
  }

  Result<std::unique_ptr<Message>> receive(i64 from, i64 tag, Bytes data) override {
    auto meeting = cluster_.meet({from, rank_, tag}, /*sending=*/false);
    meeting->posted_at = cluster_.now();
    cluster_.launch(*meeting);
    return std::unique_ptr<Message>(std::make_unique<VirtualReceive>(cluster_, std::move(meeting), data));
  }

  Result<std::unique_ptr<SharedCounter>> make_shared_counter(const std::string& /*folder*/) override {
    return Error{ErrorClass::kUnsupportedOperation, "the virtual cluster has no counters"};
  }
  Segment* segment() override { return segment_.get(); }
  void backoff(i64) override {}   // a rank that waits returns to the scheduler

 private:
  VirtualCluster& cluster_;
  i64 rank_;
  std::unique_ptr<Segment> segment_;
};

VirtualCluster::VirtualCluster(const ClusterModel& model, Topology topology) : model_(model), topology_(std::move(topology)), reading_ns_(model.processor > 0 ? cost_of_reading() : 0) {
  const size_t nodes = topology_.node_names.size();
  members_.resize(nodes);
  for (i64 rank = 0; rank < ranks(); ++rank) members_[static_cast<size_t>(node_of(rank))].push_back(rank);
  states_.resize(static_cast<size_t>(ranks()));
  node_links_.resize(nodes);
  memories_.resize(nodes);
  if (model_.nodes_of_switch > 0) switch_links_.resize((nodes + static_cast<size_t>(model_.nodes_of_switch) - 1) / static_cast<size_t>(model_.nodes_of_switch));
  if (model_.cores > 0) cores_.assign(model_.one_machine ? 1 : nodes, std::vector<i64>(static_cast<size_t>(model_.cores), 0));
  std::vector<std::unique_ptr<Segment>> segments = make_local_segments(topology_);
  segments.resize(static_cast<size_t>(ranks()));
  for (i64 rank = 0; rank < ranks(); ++rank) {
    std::unique_ptr<Segment>& memory = segments[static_cast<size_t>(rank)];
    if (memory) memory = std::make_unique<VirtualSegment>(*this, node_of(rank), std::move(memory));
    comms_.push_back(std::make_unique<VirtualComm>(*this, rank, std::move(memory)));
  }
  clear_counts();
}

VirtualCluster::~VirtualCluster() = default;

Comm& VirtualCluster::comm(i64 rank) { return *comms_[static_cast<size_t>(rank)]; }

void VirtualCluster::clear_counts() {
  counts_ = ClusterCounts{};
  counts_.into_node.resize(topology_.node_names.size());
  counts_.processor_ns.resize(static_cast<size_t>(ranks()));
}

// ---- time ----

void VirtualCluster::read_clock() {
  if (model_.processor <= 0 || running_ < 0) return;
  const i64 clock = processor_ns();
  const i64 computed = std::max<i64>(0, clock - clock_ns_ - reading_ns_);
  counts_.processor_ns[static_cast<size_t>(running_)] += computed;
  now_ns_ += static_cast<i64>(model_.processor * static_cast<double>(computed));
  clock_ns_ = clock;
}

void VirtualCluster::start_clock() {
  if (model_.processor > 0) clock_ns_ = processor_ns();
}

i64 VirtualCluster::now() {
  read_clock();
  return now_ns_;
}

void VirtualCluster::spend(i64 ns) {
  read_clock();
  now_ns_ += ns;
}

void VirtualCluster::look_at(i64 rank, i64 at_ns) {
  if (!states_[static_cast<size_t>(rank)].finished) events_.push({at_ns, next_event_++, rank});
}

// ---- messages ----

std::shared_ptr<VirtualCluster::Meeting> VirtualCluster::meet(const Key& key, bool sending) {
  Queue& queue = queues_[key];
  const i64 number = sending ? queue.sent++ : queue.posted++;
  while (queue.first + std::ssize(queue.meetings) <= number) {
    queue.meetings.push_back(std::make_shared<Meeting>());
    std::tie(queue.meetings.back()->from, queue.meetings.back()->to) = std::tie(std::get<0>(key), std::get<1>(key));
  }
  std::shared_ptr<Meeting> meeting = queue.meetings[static_cast<size_t>(number - queue.first)];
  while (!queue.meetings.empty() && queue.first < std::min(queue.sent, queue.posted)) {
    queue.meetings.pop_front();
    ++queue.first;
  }
  if (queue.meetings.empty()) queues_.erase(key);
  return meeting;
}

void VirtualCluster::charge_message(i64 bytes) {
  start_clock();
  now_ns_ += model_.message_ns + time_of(bytes, model_.copy_bytes_per_s);
}

// Sends the message as soon as both ranks permit it.
void VirtualCluster::launch(Meeting& meeting) {
  if (meeting.sent_at < 0 || meeting.arrives_at >= 0 || (!meeting.eager && meeting.posted_at < 0)) {
    if (meeting.arrives_at >= 0) look_at(meeting.to, std::max(meeting.arrives_at, meeting.posted_at));
    return;
  }
  i64 start = meeting.sent_at;
  if (!meeting.eager) start = std::max(start + model_.latency_ns, meeting.posted_at) + model_.latency_ns;   // the request to send, and the reply
  meeting.arrives_at = cross(meeting, start);
  look_at(meeting.to, meeting.arrives_at);
  if (!meeting.eager) look_at(meeting.from, meeting.sender_free_at);
}

// Returns when the last byte arrives.
i64 VirtualCluster::cross(Meeting& meeting, i64 start_ns) {
  const i64 bytes = std::ssize(meeting.data);
  const auto from = static_cast<size_t>(node_of(meeting.from)), to = static_cast<size_t>(node_of(meeting.to));
  i64 first_ns = start_ns, last_ns = start_ns;   // of its first and last byte
  const auto occupy = [&](i64& busy_until, double bytes_per_s) {
    first_ns = std::max(first_ns, busy_until);
    last_ns = std::max(last_ns, first_ns + time_of(bytes, bytes_per_s));
    busy_until = last_ns;
  };
  if (from == to) {
    occupy(memories_[from].out, model_.node_bytes_per_s);
    if (!meeting.eager) meeting.sender_free_at = last_ns;
    return last_ns;
  }
  if (model_.connect_ns > 0 && connected_.insert(std::minmax(meeting.from, meeting.to)).second) first_ns = last_ns = start_ns + model_.connect_ns;
  counts_.into_node[to].messages += 1;
  counts_.into_node[to].bytes += bytes;
  occupy(node_links_[from].out, model_.link_bytes_per_s);
  if (!meeting.eager) meeting.sender_free_at = last_ns;
  if (model_.nodes_of_switch > 0) {
    const size_t above_from = from / static_cast<size_t>(model_.nodes_of_switch), above_to = to / static_cast<size_t>(model_.nodes_of_switch);
    if (above_from != above_to) {
      occupy(switch_links_[above_from].out, model_.uplink_bytes_per_s);
      occupy(switch_links_[above_to].in, model_.uplink_bytes_per_s);
    }
  }
  first_ns += model_.latency_ns;
  last_ns += model_.latency_ns;
  occupy(node_links_[to].in, model_.link_bytes_per_s);
  return last_ns;
}

// ---- scheduler ----

i64& VirtualCluster::core_of(i64 rank) {
  std::vector<i64>& cores = cores_[model_.one_machine ? 0 : static_cast<size_t>(node_of(rank))];
  return *std::min_element(cores.begin(), cores.end());
}

bool VirtualCluster::step(i64 rank, i64 at_ns, const std::function<bool()>& task) {
  RankState& state = states_[static_cast<size_t>(rank)];
  running_ = rank;
  now_ns_ = at_ns;
  state.looked_at = at_ns;
  state.looked_number = next_event_;
  ++counts_.steps;
  start_clock();
  state.finished = task();
  read_clock();
  running_ = -1;
  state.busy_until = now_ns_;
  latest_ns_ = std::max(latest_ns_, now_ns_);
  if (!cores_.empty()) core_of(rank) = now_ns_;
  return state.finished;
}

bool VirtualCluster::run(std::vector<std::function<bool()>> steps) {
  MERCUTIO_ASSERT(std::ssize(steps) == ranks());
  began_ns_ = latest_ns_;
  for (i64 rank = 0; rank < ranks(); ++rank) {
    states_[static_cast<size_t>(rank)] = RankState{began_ns_};
    look_at(rank, began_ns_);
  }
  i64 left = ranks();
  while (left > 0) {
    if (events_.empty()) {   // nobody was told to look; so all look once
      const i64 before = counts_.steps, number = next_event_;
      for (i64 rank = 0; rank < ranks(); ++rank) {
        RankState& state = states_[static_cast<size_t>(rank)];
        if (state.finished) continue;
        if (step(rank, std::max(latest_ns_, state.busy_until), steps[static_cast<size_t>(rank)])) --left, ++counts_.unasked_steps;
      }
      counts_.steps = before;
      if (next_event_ == number && left > 0) return false;
      ++counts_.unasked_steps;
      continue;
    }
    Event event = events_.top();
    events_.pop();
    RankState& state = states_[static_cast<size_t>(event.rank)];
    if (state.finished || (event.at_ns <= state.looked_at && event.number < state.looked_number)) continue;
    i64 at = std::max(event.at_ns, state.busy_until);
    if (!cores_.empty()) at = std::max(at, core_of(event.rank));
    if (at > event.at_ns) {
      event.at_ns = at;
      events_.push(event);
      continue;
    }
    if (step(event.rank, at, steps[static_cast<size_t>(event.rank)])) --left;
  }
  while (!events_.empty()) events_.pop();
  return true;
}

}  // namespace mercutio::scale
