#include "engine/node_arena.h"

#include <cstring>

#include "base/assert.h"

namespace mercutio {
NodeArena::NodeArena(Comm& comm)
    : segment_(*comm.segment()), room_bytes_(window_room(comm.topology())), all_ranks_(comm.size()) {
  const std::vector<i64>& nodes = comm.topology().node_of_rank;
  for (i64 rank = 0; rank < all_ranks_; ++rank) {
    if (rank == comm.rank()) me_ = count();
    if (nodes[static_cast<size_t>(rank)] == nodes[static_cast<size_t>(comm.rank())]) members_.push_back(rank);
  }
  const NodeLayout layout = node_layout(comm.topology(), count());
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
  if (!segment->attached) {
    if (window_room(comm.topology()) == 0) return nullptr;
    segment->attached = std::shared_ptr<NodeArena>(new NodeArena(comm));
  }
  return std::static_pointer_cast<NodeArena>(segment->attached);
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
