#include "mpi/mpi_comm.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "base/yielding.h"
#include "mpi/abi_numbers.h"
#include "mpi/calls.h"
#include "mpi/failures.h"
#include "mpi/info.h"
#include "mpi/mpi_segment.h"
#include "mpi/numa.h"
#include "mpi/shared_slots.h"

namespace mercutio {
namespace {

// The duplicate of a user's communicator, shared by the files opened on it.
struct Duplicate {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 1;
  i64 tags_per_file = 0;
  std::optional<Slots> slots;              // of tags
  Topology topology;
  std::string host;
  std::unique_ptr<SharedSlots> counters;   // made at the first use
  std::vector<std::shared_ptr<MpiSegment>> free_segments;   // of files that were closed
  bool no_segments = false;                // one could not be made
  int node_rank = 0, node_size = 1;        // this rank among those of its node
  Failures failures;                       // of its ranks
  std::mutex mutex;

  ~Duplicate() {
    int finalized = 0;
    PMPI_Finalized(&finalized);
    if (finalized) return;
    counters.reset();
    if (comm != MPI_COMM_NULL) PMPI_Comm_free(&comm);
  }
};
using DuplicateRef = std::shared_ptr<Duplicate>;

int forget_duplicate(MPI_Comm, int, void* value, void*) {
  return attempt_or(MPI_SUCCESS, [&] {
    delete static_cast<DuplicateRef*>(value);
    return MPI_SUCCESS;
  });
}

int comm_keyval() {
  static const int keyval = [] {
    int made = MPI_KEYVAL_INVALID;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_duplicate, &made, nullptr);
    return made;
  }();
  return keyval;
}

void divide_tags(Duplicate& dup) {
  int* upper = nullptr;
  int found = 0;
  if (world_initialised()) PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &upper, &found);
  i64 tags = found ? static_cast<i64>(*upper) + 1 : 32768;
  dup.tags_per_file = tags >= (1 << 24) ? 1024 : 64;
  dup.slots.emplace(tags / dup.tags_per_file);
}

// The lowest of the ranks that share memory with this one, whatever their hosts are called. Before the duplicate is made, so that both
// need one context of the MPI's at a time.
Result<int> find_leader(MPI_Comm user, int rank) {
  MPI_Comm node = MPI_COMM_NULL;
  int leader = rank;
  int code = PMPI_Comm_split_type(user, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  if (code != MPI_SUCCESS) return mpi_error("MPI_Comm_split_type", code);
  PMPI_Comm_set_errhandler(node, abi_numbers().errors_return);
  code = PMPI_Bcast(&leader, 1, MPI_INT, 0, node);
  PMPI_Comm_free(&node);
  if (code != MPI_SUCCESS) return mpi_error("MPI_Bcast", code);
  return leader;
}

// Which rank sits on which node. An error of find_leader is one of all ranks here.
Status find_topology(Duplicate& dup, const Result<int>& leader) {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  PMPI_Get_processor_name(name, &length);
  dup.host.assign(name, static_cast<std::size_t>(length));
  if (dup.size == 1) {
    dup.topology = Topology{{0}, {dup.host}};
    return ok_status();
  }
  const int place[] = {leader ? *leader : -1, static_cast<int>(numa_domain())};
  std::vector<int> places(2 * static_cast<std::size_t>(dup.size));
  int code = PMPI_Allgather(place, 2, MPI_INT, places.data(), 2, MPI_INT, dup.comm);
  std::vector<char> names(static_cast<std::size_t>(dup.size) * sizeof name);
  if (code == MPI_SUCCESS) code = PMPI_Allgather(name, sizeof name, MPI_CHAR, names.data(), sizeof name, MPI_CHAR, dup.comm);
  if (code != MPI_SUCCESS) return mpi_error("MPI_Allgather", code);
  if (!leader) return leader.error();
  std::map<int, i64> node_of_leader;
  std::vector<i64> numa;
  bool several = false, all_known = true;
  for (int r = 0; r < dup.size; ++r) {
    int its_leader = places[2 * static_cast<std::size_t>(r)];
    if (its_leader < 0) return Error{ErrorClass::kOther, "MPI_Comm_split_type failed on rank " + std::to_string(r)};
    numa.push_back(places[2 * static_cast<std::size_t>(r) + 1]);
    several |= numa.back() != numa.front();
    all_known &= numa.back() >= 0;
    auto [it, is_new] = node_of_leader.try_emplace(its_leader, dup.topology.nodes());
    if (is_new) dup.topology.node_names.emplace_back(&names[static_cast<std::size_t>(its_leader) * sizeof name]);
    dup.topology.node_of_rank.push_back(it->second);
  }
  if (several && all_known) dup.topology.numa_of_rank = std::move(numa);
  const std::vector<i64>& nodes = dup.topology.node_of_rank;
  const i64 mine = nodes[static_cast<std::size_t>(dup.rank)];
  dup.node_size = static_cast<int>(std::count(nodes.begin(), nodes.end(), mine));
  dup.node_rank = static_cast<int>(std::count(nodes.begin(), nodes.begin() + dup.rank, mine));
  return ok_status();
}

// The program's grid, where the communicator has one: rows of ranks that write neighbouring blocks.
void find_grid(Duplicate& dup, MPI_Comm user) {
  int kind = MPI_UNDEFINED, dims = 0;
  if (PMPI_Topo_test(user, &kind) != MPI_SUCCESS || kind != MPI_CART) return;
  if (PMPI_Cartdim_get(user, &dims) != MPI_SUCCESS || dims < 1) return;
  std::vector<int> extents(static_cast<std::size_t>(dims)), periods(extents), coordinates(extents);
  if (PMPI_Cart_get(user, dims, extents.data(), periods.data(), coordinates.data()) != MPI_SUCCESS) return;
  dup.topology.cartesian.assign(extents.begin(), extents.end());
}

Result<DuplicateRef> duplicate(MPI_Comm user) {
  int keyval = comm_keyval(), found = 0;
  DuplicateRef* known = nullptr;
  PMPI_Comm_get_attr(user, keyval, &known, &found);
  if (found) return *known;
  auto dup = std::make_shared<Duplicate>();
  PMPI_Comm_rank(user, &dup->rank);
  PMPI_Comm_size(user, &dup->size);
  Result<int> leader = 0;
  int code = MPI_SUCCESS;
  {
    const ErrorsReturned returned(user);
    if (dup->size > 1) leader = find_leader(user, dup->rank);
    // A split into one group: the same ranks in the same order without running the program's attribute copy functions.
    code = PMPI_Comm_split(user, 0, dup->rank, &dup->comm);
  }
  if (code != MPI_SUCCESS) return mpi_error("MPI_Comm_split", code);
  PMPI_Comm_set_errhandler(dup->comm, abi_numbers().errors_return);
  divide_tags(*dup);
  MERCUTIO_TRY(find_topology(*dup, leader));
  dup->failures.look(dup->comm, 0);
  if (dup->failures.known()) return rank_died();
  find_grid(*dup, user);
  PMPI_Comm_set_attr(user, keyval, new DuplicateRef(dup));
  return dup;
}

constexpr i64 kLargestPart = i64{1} << 30;   // int counts

// One message: as many MPI messages as 1 GiB parts, at least one.
class MpiMessage final : public Message {
 public:
  explicit MpiMessage(const Failures& failures) : failures_(failures) {}
  ~MpiMessage() override {
    for (MPI_Request& part : parts_)
      if (part != MPI_REQUEST_NULL) {
        PMPI_Cancel(&part);
        if (failures_.known()) end(part);
        if (part != MPI_REQUEST_NULL) PMPI_Request_free(&part);
      }
  }
  Result<bool> test() override {
    int flag = 0;
    int code = parts_.size() == 1 ? PMPI_Test(parts_.data(), &flag, MPI_STATUS_IGNORE)
                                  : PMPI_Testall(static_cast<int>(parts_.size()), parts_.data(), &flag, MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS) return mpi_error("MPI_Test", code);
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
      if (code != MPI_SUCCESS) return mpi_error("MPI_Isend/MPI_Irecv", code);
      parts_.push_back(request);
      at += part;
    } while (at < bytes);
    return ok_status();
  }

 private:
  // What is on its way between two ranks that live still uses the memory; a revoked communicator ends it soon.
  static void end(MPI_Request& part) {
    constexpr timespec kNap{0, 1000000};
    int done = 0;
    for (int naps = 0; naps < 100; ++naps) {
      if (PMPI_Test(&part, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done) return;
      nanosleep(&kNap, nullptr);
    }
  }
  const Failures& failures_;   // of the communicator, which lives longer
  std::vector<MPI_Request> parts_;
};

class MpiCounter final : public SharedCounter {
 public:
  MpiCounter(DuplicateRef dup, i64 slot) : dup_(std::move(dup)), slot_(slot) {}
  ~MpiCounter() override {
    std::lock_guard lock(dup_->mutex);
    if (dup_->counters) dup_->counters->give_back(slot_);
  }
  Result<i64> fetch_add(i64 delta) override { return dup_->counters->fetch_add(slot_, delta); }
  Result<i64> load() override { return dup_->counters->fetch_add(slot_, 0); }
  Status store(i64 value) override { return dup_->counters->store(slot_, value); }
  bool sends() const override { return dup_->counters->calls_mpi(); }

 private:
  DuplicateRef dup_;
  i64 slot_;
};

// Collective. Memory for the ranks of each node; none if some node can't have it.
std::shared_ptr<MpiSegment> make_segment(Duplicate& dup) {
  MPI_Comm node = dup.comm;
  const bool several = dup.topology.nodes() > 1;
  const int color = static_cast<int>(dup.topology.node_of_rank[static_cast<std::size_t>(dup.rank)]);
  if (several && PMPI_Comm_split(dup.comm, color, dup.rank, &node) != MPI_SUCCESS) node = MPI_COMM_NULL;
  std::shared_ptr<NodeMemory> memory;
  if (node != MPI_COMM_NULL) {
    auto made = make_node_memory(node, MpiSegment::doorbell_bytes(dup.node_size) + dup.node_size * kSegmentBytesPerRank);
    if (made) memory = std::move(*made);
  }
  int mine = memory != nullptr, all = mine;
  if (several) {
    if (node != MPI_COMM_NULL) PMPI_Comm_free(&node);
    PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, dup.comm);
  }
  dup.no_segments = !all;
  dup.topology.segment_bytes = all ? kSegmentBytesPerRank : 0;
  return all ? std::make_shared<MpiSegment>(std::move(memory), dup.node_size) : nullptr;
}

// Collective, like the open it belongs to: all ranks find the same free segment, or make a new one together.
std::shared_ptr<MpiSegment> take_segment(Duplicate& dup) {
  if (dup.size == dup.topology.nodes() || dup.no_segments) return nullptr;
  if (!dup.free_segments.empty()) {
    auto segment = std::move(dup.free_segments.back());
    dup.free_segments.pop_back();
    return segment;
  }
  return make_segment(dup);
}

constexpr i64 kLooks = 16, kYields = 24;   // from then on a yield, and a sleep
constexpr i64 kMoreYields = 16;            // of who waits for a started access, whose steps take each rank longer

// What a rank does where nothing moved: it looks again, yields, and sleeps until others of the node ring. Sleeps grow slowly, as messages and
// the ends of storage requests ring no bell.
class Backoff {
 public:
  Backoff(std::shared_ptr<MpiSegment> segment, const Duplicate& dup)
      : segment_(std::move(segment)), node_rank_(dup.node_rank), longest_ns_(dup.topology.nodes() > 1 ? 50'000 : 500'000), all_ring_(dup.topology.nodes() == 1) {}

  void operator()(i64 spins) {
    static thread_local RingsSeen seen;   // a thread looks at what it waits for after each change of it
    if (segment_) {
      const RingsSeen now{segment_.get(), segment_->rings(node_rank_)};
      if (std::exchange(seen, now) != now) return;
    }
    if (spins < kLooks) return;
    if (spins == kLooks) yields_ = yielding.worth_trying();
    if (yields_ && (spins < kYields || (!segment_ && spins < 64))) {
      yields_ = yielding.yield();
      return;
    }
    if (yields_ && spins == kYields && all_ring_ && rung_on_idle_core(seen.rings)) return;
    if (segment_) return segment_->sleep(node_rank_, seen.rings, std::clamp(kShortestNs * (spins - kYields + 1), kShortestNs, longest_ns_));
    timespec pause{0, std::clamp<long>(1000 * (static_cast<long>(spins) - 63), 1000, 50000)};
    nanosleep(&pause, nullptr);
  }

 private:
  static constexpr i64 kShortestNs = 10'000;
  struct RingsSeen {
    const MpiSegment* segment = nullptr;
    std::uint32_t rings = 0;
    bool operator==(const RingsSeen&) const = default;
  };
  // To be woken takes longer than most waits of ranks that have a core each. So a rank waits for the bell with its eyes open for as long as
  // nobody else wants its core: as long as yields return at once.
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

  const std::shared_ptr<MpiSegment> segment_;   // null: nobody rings
  const i64 node_rank_, longest_ns_;            // a message from another node rings no bell
  const bool all_ring_;                         // there are no others
  std::atomic<bool> yields_{true};   // in the wait that is under way
};

class MpiComm final : public Comm {
 public:
  // Collective, with the duplicate's mutex held.
  MpiComm(DuplicateRef dup, i64 slot)
      : dup_(std::move(dup)), concurrent_(thread_multiple()), slot_(slot), segment_(take_segment(*dup_)) {
    backoff_ = std::make_shared<Backoff>(segment_, *dup_);
  }
  ~MpiComm() override {
    std::lock_guard lock(dup_->mutex);
    dup_->slots->give_back(slot_);
    if (segment_ && !dup_->failures.known()) dup_->free_segments.push_back(std::move(segment_));
  }
  i64 rank() const override { return dup_->rank; }
  i64 size() const override { return dup_->size; }
  i64 tags() const override { return dup_->tags_per_file; }
  const Topology& topology() const override { return dup_->topology; }
  std::string host() const override { return dup_->host; }
  bool concurrent() const override { return concurrent_; }
  // The duplicate has what the World Model or the session has: what the program asserted of its own communicator isn't inherited.
  std::string memory_kinds() const override {
    MPI_Info info = MPI_INFO_NULL;
    if (PMPI_Comm_get_info(dup_->comm, &info) != MPI_SUCCESS) return "";
    std::string kinds;
    for (auto& [key, value] : items_of(info))
      if (key == "mpi_memory_alloc_kinds") kinds = value;
    PMPI_Info_free(&info);
    return kinds;
  }
  MPI_Comm handle() const { return dup_->comm; }

  Result<std::unique_ptr<Message>> send(i64 to, i64 tag, ConstBytes data) override {
    auto message = std::make_unique<MpiMessage>(dup_->failures);
    MERCUTIO_TRY(message->post_parts(static_cast<i64>(data.size()), [&](i64 at, int bytes, MPI_Request* request) {
      return PMPI_Isend(data.data() + at, bytes, MPI_BYTE, static_cast<int>(to), mpi_tag(tag), dup_->comm, request);
    }));
    return std::unique_ptr<Message>(std::move(message));
  }
  Result<std::unique_ptr<Message>> receive(i64 from, i64 tag, Bytes data) override {
    auto message = std::make_unique<MpiMessage>(dup_->failures);
    MERCUTIO_TRY(message->post_parts(static_cast<i64>(data.size()), [&](i64 at, int bytes, MPI_Request* request) {
      return PMPI_Irecv(data.data() + at, bytes, MPI_BYTE, static_cast<int>(from), mpi_tag(tag), dup_->comm, request);
    }));
    return std::unique_ptr<Message>(std::move(message));
  }

  Result<std::unique_ptr<SharedCounter>> make_shared_counter(const std::string& folder) override {
    std::lock_guard lock(dup_->mutex);
    if (dup_->failures.found(dup_->comm, mpi_tag(0), /*may_call=*/true)) return rank_died();
    if (!dup_->counters) {
      MERCUTIO_LET(dup_->counters, make_shared_slots(dup_->comm, dup_->topology, folder));
    }
    MERCUTIO_LET(i64 slot, dup_->counters->take());
    return std::unique_ptr<SharedCounter>(std::make_unique<MpiCounter>(dup_, slot));
  }

  Segment* segment() override { return segment_.get(); }

  // MPI makes progress only inside its calls, and somebody may need ours for a message of the program's; on a busy node
  // the core is somebody else's.
  void backoff(i64 spins) override {
    if (segment_ && spins >= kYields) poll_mpi();
    (*backoff_)(spins);
  }
  void poll_mpi() override {
    dup_->failures.look(dup_->comm, mpi_tag(0));
  }
  bool failed(bool may_call) override { return dup_->failures.found(dup_->comm, mpi_tag(0), may_call || concurrent_); }
  std::function<void(i64)> backoff_no_mpi() override {
    return [backoff = backoff_](i64 spins) { (*backoff)(spins < kYields ? spins : std::max(kYields - 1, spins - kMoreYields)); };
  }

 private:
  int mpi_tag(i64 tag) const { return static_cast<int>(slot_ * dup_->tags_per_file + tag % dup_->tags_per_file); }
  DuplicateRef dup_;
  bool concurrent_;
  i64 slot_;   // of tags
  std::shared_ptr<MpiSegment> segment_;   // this node's
  std::shared_ptr<Backoff> backoff_;
};

}  // namespace

bool thread_multiple() {
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE;
}

Result<std::unique_ptr<Comm>> make_mpi_comm(MPI_Comm user) {
  if (user == MPI_COMM_NULL) return Error{ErrorClass::kComm, "the communicator is MPI_COMM_NULL"};
  int inter = 0;
  if (PMPI_Comm_test_inter(user, &inter) != MPI_SUCCESS || inter)
    return Error{ErrorClass::kComm, "a file is opened on an intra-communicator, this is an inter-communicator"};
  MERCUTIO_LET(DuplicateRef dup, duplicate(user));
  std::unique_ptr<MpiComm> comm;
  {
    std::lock_guard lock(dup->mutex);
    MERCUTIO_LET(const Slots::Slot slot, dup->slots->take([&](i64 mine) { return range_over(dup->comm, mine); }));
    comm = std::make_unique<MpiComm>(dup, slot.number);
  }
  comm->poll_mpi();
  if (comm->failed(/*may_call=*/true)) return rank_died();   // and what was exchanged so far may be wrong
  return std::unique_ptr<Comm>(std::move(comm));
}

MPI_Comm duplicate_of(const Comm& comm) { return static_cast<const MpiComm&>(comm).handle(); }

}  // namespace mercutio
