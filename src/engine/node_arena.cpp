#include "engine/node_arena.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/assert.h"

namespace mercutio {
namespace {

// Memory of this process alone; pages come when they are touched.
class PrivateSegment final : public Segment {
 public:
  explicit PrivateSegment(i64 bytes)
      : bytes_(bytes), at_(::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~PrivateSegment() override {
    if (exists()) ::munmap(at_, static_cast<size_t>(bytes_));
  }
  PrivateSegment(const PrivateSegment&) = delete;
  PrivateSegment& operator=(const PrivateSegment&) = delete;
  bool exists() const { return at_ != MAP_FAILED; }
  std::byte* data() override { return static_cast<std::byte*>(at_); }
  i64 bytes() const override { return bytes_; }
  void wake(i64) override {}

 private:
  const i64 bytes_;
  void* const at_;
};

}  // namespace

NodeArena::NodeArena(Segment& segment, const NodeLayout& layout, i64 ranks) : segment_(segment), all_ranks_(ranks) {
  window_counters_ = reinterpret_cast<WindowCounters*>(segment_.data() + layout.domains_at);
  finished_ = reinterpret_cast<i64*>(segment_.data() + layout.finished_at);
  areas_ = segment_.data() + layout.areas_at;
  area_bytes_ = layout.area_bytes;
  MERCUTIO_ASSERT(area_bytes_ > 0);
  bases_.assign(static_cast<size_t>(all_ranks_), 0);
}

std::shared_ptr<NodeArena> NodeArena::of(Comm& comm) {
  Segment* segment = comm.segment();
  if (!segment) return nullptr;
  const i64 room = window_room(comm.topology());
  if (!segment->attached) {
    if (room == 0) return nullptr;
    const std::vector<i64>& nodes = comm.topology().node_of_rank;
    const i64 node = nodes[static_cast<size_t>(comm.rank())], members = std::count(nodes.begin(), nodes.end(), node);
    const std::shared_ptr<NodeArena> arena(new NodeArena(*segment, node_layout(comm.topology(), members), comm.size()));
    for (i64 rank = 0; rank < comm.size(); ++rank) {
      if (rank == comm.rank()) arena->me_ = arena->count();
      if (nodes[static_cast<size_t>(rank)] == node) arena->members_.push_back(rank);
    }
    arena->room_bytes_ = room;
    segment->attached = arena;
  }
  return std::static_pointer_cast<NodeArena>(segment->attached);
}

Result<std::shared_ptr<NodeArena>> NodeArena::make_private(const Comm& comm) {
  const NodeLayout layout = private_layout(comm.size());
  auto segment = std::make_unique<PrivateSegment>(layout.areas_at + layout.area_bytes);
  if (!segment->exists()) return Error{ErrorClass::kNoMem, "no address space for the windows of collective accesses", errno};
  std::shared_ptr<NodeArena> arena(new NodeArena(*segment, layout, comm.size()));
  arena->own_segment_ = std::move(segment);
  arena->is_private_ = true;
  arena->members_.push_back(comm.rank());
  arena->room_bytes_ = kPrivateWindowRoom;
  return arena;
}

Result<NodeArena*> NodeArena::private_part(const Comm& comm) {
  if (is_private_) return this;
  if (!private_part_) {
    MERCUTIO_LET(private_part_, make_private(comm));
  }
  return private_part_.get();
}

i64 NodeArena::issue_ticket() {
  std::lock_guard lock(tickets_mutex_);
  return next_ticket_++;
}

void NodeArena::return_ticket(i64 ticket) {
  std::lock_guard lock(tickets_mutex_);
  i64 current = current_ticket_.load(std::memory_order_relaxed);
  MERCUTIO_ASSERT(ticket >= current && ticket < next_ticket_);
  MERCUTIO_ASSERT(returned_early_.count(ticket) == 0);
  returned_early_.insert(ticket);
  while (returned_early_.erase(current) > 0) ++current;
  current_ticket_.store(current, std::memory_order_release);
}

void NodeArena::post(ConstBytes mine) {
  MERCUTIO_ASSERT(std::ssize(mine) <= kGatherBytes);
  Control& own = control(me_);
  if (!mine.empty()) std::memcpy(own.gathered[gathers_ % 2], mine.data(), mine.size());
  ++gathers_;
  first_missing_ = 0;
  std::atomic_ref(own.posted).store(gathers_, std::memory_order_release);
  wake_others();
}

bool NodeArena::all_posted() {
  while (first_missing_ < count() && std::atomic_ref(control(first_missing_).posted).load(std::memory_order_acquire) >= gathers_) {
    ++first_missing_;
  }
  return first_missing_ == count();
}

void NodeArena::collect(i64 bytes, Bytes all) const {
  MERCUTIO_ASSERT(bytes >= 0 && bytes <= kGatherBytes && std::ssize(all) >= bytes * count());
  for (i64 i = 0; bytes > 0 && i < count(); ++i) {
    std::memcpy(all.data() + i * bytes, control(i).gathered[(gathers_ - 1) % 2], static_cast<size_t>(bytes));
  }
}

void NodeArena::wake_others() {
  for (i64 i = 0; i < count(); ++i) {
    if (i != me_) segment_.wake(i);
  }
}

}  // namespace mercutio
