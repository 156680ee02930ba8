#include "mpi/mpi_comm.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "base/nap.h"
#include "base/yielding.h"
#include "mpi/abi_numbers.h"
#include "mpi/calls.h"
#include "mpi/failures.h"
#include "mpi/info.h"
#include "mpi/mpi_segment.h"
#include "mpi/rank_group.h"
#include "mpi/real.h"

namespace mercutio {
namespace {

constexpr i64 kLargestPart = i64{1} << 30;   // int counts

// One message. It consists of at least one MPI message, and of one for each 1 GiB.
class MpiMessage final : public Message {
 public:
  explicit MpiMessage(RankGroup& group) : group_(group) {}
  ~MpiMessage() override {
    for (MPI_Request& part : parts_)
      if (part != MPI_REQUEST_NULL) {
        PMPI_Cancel(&part);
        if (group_.failures().known()) end(part);
        if (part != MPI_REQUEST_NULL) PMPI_Request_free(&part);
      }
  }
  Result<bool> test() override {
    int flag = 0;
    int code = parts_.size() == 1 ? PMPI_Test(parts_.data(), &flag, MPI_STATUS_IGNORE)
                                  : PMPI_Testall(static_cast<int>(parts_.size()), parts_.data(), &flag, MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS) return mpi_error("MPI_Test", code, group_.comm());
    return flag != 0;
  }
  // post(first byte, bytes, request) starts one part.
  template <class Post>
  Status post_parts(i64 bytes, Post post) {
    i64 at = 0;
    do {
      i64 part = std::min(bytes - at, kLargestPart);
      MPI_Request request = MPI_REQUEST_NULL;
      int code = post(at, static_cast<int>(part), &request);
      if (code != MPI_SUCCESS) return mpi_error("MPI_Isend/MPI_Irecv", code, group_.comm());
      parts_.push_back(request);
      at += part;
    } while (at < bytes);
    return ok_status();
  }

 private:
  // A transfer between two live ranks still uses the memory, so it is waited for. On a revoked communicator it ends soon.
  static void end(MPI_Request& part) {
    constexpr timespec kNap{0, 1000000};
    int done = 0;
    for (int naps = 0; naps < 100; ++naps) {
      if (PMPI_Test(&part, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done) return;
      nanosleep(&kNap, nullptr);
    }
  }
  RankGroup& group_;   // outlives the message
  std::vector<MPI_Request> parts_;
};

class MpiCounter final : public SharedCounter {
 public:
  MpiCounter(RankGroupRef group, std::shared_ptr<SharedSlots> counters, i64 slot)
      : group_(std::move(group)), counters_(std::move(counters)), slot_(slot) {
    counters_->begin_use();
  }
  MpiCounter(const MpiCounter&) = delete;
  MpiCounter& operator=(const MpiCounter&) = delete;
  ~MpiCounter() override { counters_->end_use(); }
  Result<i64> fetch_add(i64 delta) override { return counters_->fetch_add(slot_, delta); }
  Result<i64> load() override { return counters_->fetch_add(slot_, 0); }
  Status store(i64 value) override { return counters_->store(slot_, value); }
  bool sends() const override { return counters_->calls_mpi(); }
  std::unique_ptr<SharedCounter> second() override { return std::make_unique<MpiCounter>(group_, counters_, slot_ % kFiles + kFiles); }

 private:
  static constexpr i64 kFiles = kCounters / 2;
  const RankGroupRef group_;
  const std::shared_ptr<SharedSlots> counters_;
  const i64 slot_;
};

constexpr i64 kPolls = 16, kYields = 24;   // numbers of polls and of yields; then a yield with each sleep
constexpr i64 kMoreYields = 16;            // for threads that wait for a started access, whose steps take each rank longer

// The steps of a rank that makes no progress: it polls, then yields, then sleeps until another rank of the node rings its doorbell.
// Sleeps grow slowly, because arriving messages and completed storage requests ring no doorbell. A rank that waits for the doorbell
// and nothing else sleeps longer: with many ranks on few cores it would wake again and again only to find that others are missing.
class Backoff final : public Pauses {
 public:
  Backoff(std::shared_ptr<MpiSegment> segment, const RankGroupRef& group, int tag)
      : segment_(std::move(segment)), group_(group), tag_(tag), node_rank_(group->node_rank()), longest_ns_(group->topology().nodes() > 1 ? 50'000 : 500'000),
        all_ring_(group->topology().nodes() == 1), core_each_(all_ring_ && segment_ && segment_->core_each()),
        waited_ns_(std::clamp(kTurnNs / 2 * (segment_ ? segment_->ranks_per_core() : 1), kWaitedNs, kExpectedNs)) {
    if (segment_) yielding.expect(kTurnNs * segment_->ranks_per_core());
  }

  // On our communicator of the file's ranks, because MPICH makes no progress in a probe of MPI_COMM_SELF.
  void poll_mpi() override {
    if (const RankGroupRef group = group_.lock()) group->failures().poll(group->comm(), tag_);
  }

  // In a blocking collective call. Where there is no segment, the steps of the collective call MPI.
  void blocking(i64 spins) {
    if (segment_ && spins >= kYields && poll_moves(/*calls_once=*/spins == kYields)) return let_others_run();
    step(spins, {kExpectedNs, longest_ns_});
  }

  // There are more yields, because the steps of a started access take each rank longer. If ranks share cores, it does not poll before: another
  // rank needs the core.
  void pause(const Wait& wait) override {
    const i64 begin = core_each_ ? 0 : kPolls, yields = kYields + kMoreYields - begin;
    const i64 spins = wait.spins < yields ? std::min(begin + wait.spins, kYields - 1) : kYields + wait.spins - yields;
    if (wait.may_call && spins >= kYields && poll_moves(/*calls_once=*/spins == kYields || !wait.alone)) return let_others_run();
    const i64 longest = std::min(wait.longest_ns, wait.alone ? longest_ns_ : kShortNs);
    step(spins, {wait.alone ? std::min(wait.longest_ns, wait.may_call ? waited_ns_ : kExpectedNs) : 0, longest});
  }

 private:
  static constexpr i64 kTurnNs = 100'000;         // a rank that shares the core runs no longer before it waits, too
  static constexpr i64 kShortestNs = 10'000, kShortNs = 50'000;
  // Between two sleeps MPI makes progress, and dead ranks are found. While it waits for a started access, a program often has messages under way.
  static constexpr i64 kExpectedNs = 1'000'000, kWaitedNs = 250'000;
  struct RingsSeen {
    const MpiSegment* segment = nullptr;
    std::uint32_t rings = 0;
    bool operator==(const RingsSeen&) const = default;
  };
  struct Longest {
    i64 expected_ns;   // of a sleep until an expected wake-up; 0: none is expected
    i64 other_ns;
  };
  // MPI progresses only inside its calls, and another rank may be sending to this one a long message of the program, part by part. Calls that
  // use much processor time have moved a part; if only a little more than usual, twice: caches may have been cold. Returns whether one was
  // moved lately: then the next one is about to come, and the rank should not sleep. Time is not wall time: an MPI may yield in its calls,
  // and then other ranks run.
  // `calls_once`: before the first sleep, as most waits are over after it, and before short ones.
  bool poll_moves(bool calls_once) {
    constexpr int kCalls = 8;   // Open MPI looks at its networks in each eighth call
    constexpr i64 kLittleNs = 2'000, kLongNs = 10'000, kNextNs = 50'000, kSeldomNs = 200'000;
    static thread_local i64 end_ns = 0, moving_until_ns = 0;   // of the last calls
    static thread_local i64 idle_ns = 0;   // of calls that move nothing, learned, as some networks take long
    static thread_local bool was_long = false;
    const bool moves = end_ns < moving_until_ns;
    if (calls_once || (!moves && now_ns() < end_ns + kSeldomNs)) return poll_mpi(), false;
    const i64 begin = thread_ns();
    const i64 last_ns = now_ns() + kLongNs;
    int calls = 0;
    do {
      poll_mpi();
      end_ns = now_ns();
    } while (++calls < kCalls && end_ns < last_ns);
    const i64 took = thread_ns() - begin;
    const bool is_long = idle_ns > 0 && took > 2 * idle_ns + kLittleNs;
    if (is_long && (was_long || took > 10 * idle_ns)) moving_until_ns = end_ns + kNextNs;
    was_long = is_long;
    idle_ns = idle_ns > 0 ? std::min(took, idle_ns + idle_ns / (is_long ? 1024 : 64) + 1) : took;
    return end_ns < moving_until_ns;
  }
  static i64 thread_ns() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * 1'000'000'000 + used.tv_nsec;
  }
  static void let_others_run() { yielding.worth_trying() ? (void)yielding.yield() : nap(kShortestNs); }

  void step(i64 spins, Longest longest) {
    static thread_local RingsSeen seen;   // a thread tests its condition after each change of the doorbell
    const bool expected = segment_ && segment_->take_expected() && longest.expected_ns > 0;
    if (spins == kPolls) yields_ = yielding.worth_trying();
    if (segment_) {
      const RingsSeen now{segment_.get(), segment_->rings(node_rank_)};
      if (std::exchange(seen, now) != now) return;
    }
    if (spins < kPolls) return core_each_ ? poll_closely(seen.rings) : void();
    if (yields_ && (spins < kYields || (!segment_ && spins < 64))) {
      yields_ = yielding.yield();
      return;
    }
    if (yields_ && spins == kYields && all_ring_ && rung_on_idle_core(seen.rings)) return;
    if (expected) return segment_->sleep(node_rank_, seen.rings, longest.expected_ns);
    if (segment_ && (all_ring_ || can_nap(longest.other_ns))) {
      return segment_->sleep(node_rank_, seen.rings, std::min(kShortestNs * (std::max(spins, kYields) - kYields + 1), longest.other_ns));
    }
    nap(std::clamp<i64>(1000 * (spins - 63), 1000, 50000));
  }
  // Small accesses of ranks with a core each are over within a few microseconds. A system call would take as long.
  void poll_closely(std::uint32_t rings) const {
    constexpr int kPauses = 32;   // one to two microseconds
    for (int i = 0; i < kPauses && segment_->rings(node_rank_) == rings; ++i) pause_core();
  }
  // Waking up takes longer than most waits if each rank has a core of its own. Therefore a rank polls the doorbell as long as its
  // core has nothing else to do, which shows in yields that return at once.
  bool rung_on_idle_core(std::uint32_t rings) const {
    constexpr i64 kLongestNs = 100'000, kAtOnceNs = 2'000;
    const i64 begin = now_ns();
    for (i64 last = begin; last - begin < kLongestNs;) {
      sched_yield();
      if (segment_->rings(node_rank_) != rings) return true;
      const i64 now = now_ns();
      if (now - std::exchange(last, now) > kAtOnceNs) return false;
    }
    return false;
  }

  const std::shared_ptr<MpiSegment> segment_;   // null: there are no doorbells
  const std::weak_ptr<RankGroup> group_;
  const int tag_;                               // of the file
  const i64 node_rank_, longest_ns_;            // a message from another node rings no doorbell
  const bool all_ring_;                         // there are no other nodes
  const bool core_each_;                        // nor more ranks than cores
  const i64 waited_ns_;                         // longer where many ranks share a core, which would wake again and again
  std::atomic<bool> yields_{true};   // in the current wait
};

class MpiComm final : public Comm {
 public:
  // Collective over `user`, which is used only during the open.
  MpiComm(KnownRanks ranks, const FilePlace& place, MPI_Comm user)
      : group_(std::move(ranks.group)), topology_(std::move(ranks.topology)), concurrent_(thread_multiple()), place_(place), user_(user), segment_(group_->segment(user, place)) {
    if (!segment_ && topology_->segment_bytes > 0) {
      auto without = std::make_shared<Topology>(*topology_);
      without->segment_bytes = 0;
      topology_ = std::move(without);
    }
    backoff_ = std::make_shared<Backoff>(segment_, group_, mpi_tag(0));
  }
  // After a rank has died, the other ranks may be at any point, so the numbers of this file are not used again.
  ~MpiComm() override {
    segment_ = nullptr;
    backoff_ = nullptr;
    if (!group_->failures().known()) group_->give_back(place_);
  }
  i64 rank() const override { return group_->rank(); }
  i64 size() const override { return group_->size(); }
  i64 tags() const override { return group_->tags_per_file(); }
  const Topology& topology() const override { return *topology_; }
  std::string host() const override { return group_->host(); }
  bool concurrent() const override { return concurrent_; }
  // The memory kinds of the World Model or the session. Assertions of the program about its own communicator are not inherited.
  std::string memory_kinds() const override {
    MPI_Info info = MPI_INFO_NULL;
    if (PMPI_Comm_get_info(group_->comm(), &info) != MPI_SUCCESS) return "";
    std::string kinds;
    for (auto& [key, value] : items_of(info))
      if (key == "mpi_memory_alloc_kinds") kinds = value;
    PMPI_Info_free(&info);
    return kinds;
  }
  MPI_Comm handle() const { return group_->comm(); }

  Result<std::unique_ptr<Message>> send(i64 to, i64 tag, ConstBytes data) override {
    auto message = std::make_unique<MpiMessage>(*group_);
    MERCUTIO_TRY(message->post_parts(static_cast<i64>(data.size()), [&](i64 at, int bytes, MPI_Request* request) {
      return PMPI_Isend(data.data() + at, bytes, MPI_BYTE, static_cast<int>(to), mpi_tag(tag), group_->comm(), request);
    }));
    return std::unique_ptr<Message>(std::move(message));
  }
  Result<std::unique_ptr<Message>> receive(i64 from, i64 tag, Bytes data) override {
    auto message = std::make_unique<MpiMessage>(*group_);
    MERCUTIO_TRY(message->post_parts(static_cast<i64>(data.size()), [&](i64 at, int bytes, MPI_Request* request) {
      return PMPI_Irecv(data.data() + at, bytes, MPI_BYTE, static_cast<int>(from), mpi_tag(tag), group_->comm(), request);
    }));
    return std::unique_ptr<Message>(std::move(message));
  }

  Result<std::unique_ptr<SharedCounter>> make_shared_counter(const std::string& folder) override {
    if (failed(/*may_call=*/true)) return rank_died();
    const ErrorsReturned returned(user_);
    MERCUTIO_LET(auto counters, group_->counters(user_, folder));
    if (rank() == 0) MERCUTIO_TRY(counters->store(place_.memory, 0));   // before any rank leaves the open
    return std::unique_ptr<SharedCounter>(std::make_unique<MpiCounter>(group_, std::move(counters), place_.memory));
  }

  Segment* segment() override { return segment_.get(); }

  void backoff(i64 spins) override { backoff_->blocking(spins); }
  void poll_mpi() override { backoff_->poll_mpi(); }
  bool failed(bool may_call) override {
    Failures& failures = group_->failures();
    return failures.known() || (failures.reported() && (may_call || concurrent_) && failures.found(group_->comm(), mpi_tag(0)));
  }
  std::shared_ptr<Pauses> pauses() override { return backoff_; }

 private:
  int mpi_tag(i64 tag) const { return static_cast<int>(place_.tags * group_->tags_per_file() + tag % group_->tags_per_file()); }
  const RankGroupRef group_;
  std::shared_ptr<const Topology> topology_;
  const bool concurrent_;
  const FilePlace place_;
  const MPI_Comm user_;
  std::shared_ptr<MpiSegment> segment_;   // of this node
  std::shared_ptr<Backoff> backoff_;
};

}  // namespace

bool thread_multiple() {
  int level = MPI_THREAD_SINGLE;
  static auto* const query = real_function<int(int*)>("PMPI_Query_thread");   // not what this library tells the program
  query(&level);
  return level == MPI_THREAD_MULTIPLE;
}

Result<std::unique_ptr<Comm>> make_mpi_comm(MPI_Comm user) {
  if (user == MPI_COMM_NULL) return Error{ErrorClass::kComm, "the communicator is MPI_COMM_NULL"};
  int inter = 0;
  if (PMPI_Comm_test_inter(user, &inter) != MPI_SUCCESS || inter)
    return Error{ErrorClass::kComm, "a file is opened on an intra-communicator, this is an inter-communicator"};
  const ErrorsReturned returned(user);
  MERCUTIO_LET(OpenPlace place, place_on(user));
  auto comm = std::make_unique<MpiComm>(std::move(place.ranks), place.file, user);
  comm->poll_mpi();
  if (comm->failed(/*may_call=*/true)) return rank_died();   // what was exchanged so far may be wrong
  return std::unique_ptr<Comm>(std::move(comm));
}

MPI_Comm duplicate_of(const Comm& comm) { return static_cast<const MpiComm&>(comm).handle(); }

}  // namespace mercutio
