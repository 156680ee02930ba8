#include "engine/agreement/node_arena.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/yielding.h"
#include "comm/local_segment.h"

namespace mercutio {

NodeArena::NodeArena(Segment& segment, const NodeLayout& layout, const Comm& comm)
    : segment_(segment), all_ranks_(comm.size()), place_(place_of(comm.rank(), comm.topology())) {
  lines_ = reinterpret_cast<Line*>(segment_.data());
  controls_ = reinterpret_cast<Control*>(segment_.data() + layout.controls_at);
  result_ = reinterpret_cast<ResultHeader*>(segment_.data() + layout.result_at);
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
    const std::shared_ptr<NodeArena> arena(new NodeArena(*segment, node_layout(comm.topology(), members), comm));
    arena->first_ranks_.assign(comm.topology().node_names.size(), -1);
    for (i64 rank = 0; rank < comm.size(); ++rank) {
      if (nodes[static_cast<size_t>(rank)] == node) arena->members_.push_back(rank);
      i64& first = arena->first_ranks_[static_cast<size_t>(nodes[static_cast<size_t>(rank)])];
      if (first < 0) first = rank;
    }
    arena->me_ = arena->place_.index;
    arena->room_bytes_ = room;
    segment->attached = arena;
  }
  return std::static_pointer_cast<NodeArena>(segment->attached);
}

Result<std::shared_ptr<NodeArena>> NodeArena::make_private(const Comm& comm) {
  const NodeLayout layout = private_layout(comm.size());
  const i64 bytes = layout.areas_at + layout.area_bytes;
  std::shared_ptr<std::byte> memory = map_memory(bytes);
  if (!memory) return Error{ErrorClass::kNoMem, "no address space for " + std::to_string(bytes / MiB) + " MiB of windows of collective accesses", errno};
  auto segment = std::make_unique<LocalSegment>(std::move(memory));
  std::shared_ptr<NodeArena> arena(new NodeArena(*segment, layout, comm));
  arena->own_segment_ = std::move(segment);
  arena->members_.push_back(comm.rank());
  arena->room_bytes_ = kPrivateWindowRoom;
  return arena;
}

const ByNode& NodeArena::ranks_by_node(const Topology& topology) {
  std::call_once(ranks_sorted_, [&] { ranks_by_node_.emplace(topology.node_of_rank, topology.nodes()); });   // several files may share an arena
  return *ranks_by_node_;
}

// The holder of the current ticket changes `current_ticket_`, without the lock. If that ticket was returned early, the thread that holds the lock does.
// No return is lost: a thread that returns in turn stores `current_ticket_`, then loads `any_early_`; one that returns early stores `any_early_`, then loads
// `current_ticket_`. No wake-up is lost: the first stores `current_ticket_`, then loads `next_ticket_`; a thread that takes a ticket increments
// `next_ticket_`, then loads `current_ticket_`. All of it is sequentially consistent, and shows the next holder what this one did in the arena.
void NodeArena::return_ticket(i64 ticket) {
  MERCUTIO_ASSERT(ticket >= current_ticket_.load() && ticket < next_ticket_.load());
  const bool in_turn = is_current(ticket);
  if (in_turn) current_ticket_.store(ticket + 1);
  if (!in_turn || any_early_.load()) {
    std::lock_guard lock(tickets_mutex_);
    MERCUTIO_ASSERT(returned_early_.count(ticket) == 0);
    if (!in_turn) {
      returned_early_.insert(ticket);
      any_early_.store(true);
    }
    i64 current = current_ticket_.load();
    for (; returned_early_.erase(current) > 0; ++current) current_ticket_.store(current + 1);
    any_early_.store(!returned_early_.empty());
  }
  if (current_ticket_.load() < next_ticket_.load()) segment_.wake(me_);   // another thread of this rank holds the next ticket
}

// The members from `from` on are looked at in their order, but for this rank. Returns the first that has not posted, or count().
i64 NodeArena::first_missing(i64 gather, i64 from) const {
  while (from < count() && (from == me_ || std::atomic_ref(line(from, gather).posted).load(std::memory_order_seq_cst) >> 1 == gather)) ++from;
  return from;
}

// Nobody sleeps through the last post. A rank that posts stores the number of the gather, then loads `awaited`, then the numbers of the others. A
// rank that waits stores `awaited`, then loads the numbers. All of it is sequentially consistent. So a rank that posts sees `awaited`, or the rank
// that waits sees the post. Of ranks that post at once, the one whose store is the last sees the numbers of all others.
void NodeArena::post(ConstBytes mine, bool publishes) {
  MERCUTIO_ASSERT(std::ssize(mine) <= kGatherBytes);
  published_since_gather_ = false;
  if (publishes) begin_publication();
  const i64 gather = ++gathers_;
  Line& own = line(me_, gather);
  MERCUTIO_ASSERT(own.posted >> 1 == std::max<i64>(gather - 2, 0));
  const bool fits = mine.size() <= sizeof own.data;
  std::byte* const there = fits ? own.data : controls_[me_].contributions[gather & 1];
  mine_ = fits ? mine_copy_ : there;
  if (!mine.empty()) {
    std::memcpy(there, mine.data(), mine.size());
    if (fits) std::memcpy(mine_copy_, mine.data(), mine.size());
  }
  std::atomic_ref(own.posted).store(2 * gather + (fits ? 0 : 1), std::memory_order_seq_cst);
  if (std::atomic_ref(result_->awaited[gather & 1]).load(std::memory_order_seq_cst) != gather) return;
  if (first_missing(gather, 0) < count()) return;
  if (!publishes) wake_others();
  if (publishes && !is_first()) segment_.wake(0);
}

bool NodeArena::all_posted() {
  const i64 gather = gathers_;
  const bool first = std::exchange(looked_at_, gather) != gather;
  if (first) arrived_ = 0;
  arrived_ = first_missing(gather, arrived_);
  // A meeting of ranks with a core each is over within a few microseconds. To wake one of them would take as long.
  constexpr i64 kCloseLooks = 64;
  for (i64 looks = first && segment_.core_each() ? kCloseLooks : 0; arrived_ < count() && looks > 0; --looks) {
    pause_core();
    arrived_ = first_missing(gather, arrived_);
  }
  if (arrived_ == count()) return true;
  std::atomic_ref(result_->awaited[gather & 1]).store(gather, std::memory_order_seq_cst);
  arrived_ = first_missing(gather, arrived_);
  return expecting_wake(arrived_ == count());
}

void NodeArena::publish(const Status& status, ConstBytes value) {
  MERCUTIO_ASSERT(is_first());
  result_->error_class = status.ok() ? static_cast<i64>(ErrorClass::kNone) : static_cast<i64>(status.error().cls);
  result_->sys_errno = status.ok() ? 0 : status.error().sys_errno;
  result_->bytes = std::ssize(value);
  const std::string text = status.ok() ? "" : status.error().what.substr(0, sizeof result_->error_text - 1);
  std::memcpy(result_->error_text, text.c_str(), text.size() + 1);
  const size_t passed_on = std::min(value.size(), static_cast<size_t>(result_room()));
  if (passed_on > 0) std::memcpy(reinterpret_cast<std::byte*>(result_) + kResultHeaderBytes, value.data(), passed_on);
  std::atomic_ref(result_->published).store(publications_, std::memory_order_release);
  wake_others();
}

Status NodeArena::result_status() const {
  if (result_->error_class == static_cast<i64>(ErrorClass::kNone)) return ok_status();
  return Error{static_cast<ErrorClass>(result_->error_class), result_->error_text, static_cast<int>(result_->sys_errno)};
}

ConstBytes NodeArena::result() const {
  return {reinterpret_cast<const std::byte*>(result_) + kResultHeaderBytes, static_cast<size_t>(result_->bytes)};
}

Status NodeArena::take_result(Bytes into) const {
  MERCUTIO_TRY(result_status());
  if (result_->bytes != std::ssize(into)) return Error{ErrorClass::kIntern, "a result of another length was published"};
  std::memcpy(into.data(), result().data(), into.size());
  return ok_status();
}

void NodeArena::wake_others() {
  for (i64 i = 0; i < count(); ++i) {
    if (i != me_) segment_.wake(i);
  }
}

}  // namespace mercutio
