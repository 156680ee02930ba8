// NodeArena: the use of the memory that the ranks of a node share (Comm::segment()): small gathers without messages, results
// that the node's first rank has for all of them, and for every rank an area with the windows of the domains it leads.
//
// One operation of a file uses the arena at a time, in the order of tickets, which are issued in the same order on all
// ranks. An operation begins and ends with a gather, so no rank still reads its counters when the next one begins. All
// counters only grow, through all operations and files that use the segment: none is ever reset.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <type_traits>
#include <vector>

#include "base/assert.h"
#include "base/thread_annotations.h"
#include "comm/comm.h"
#include "plan/node_layout.h"

namespace mercutio {

class NodeArena {
 public:
  static constexpr i64 kGatherBytes = 960;   // the most that one rank contributes

  // The arena of the Comm's segment. Null where the Comm has none, or, on all ranks, where the counters leave no room
  // for windows on some node. The Comm must outlive its use.
  static std::shared_ptr<NodeArena> of(Comm& comm);

  // One of this rank's own memory, as if it were alone on its node. kNoMem.
  static Result<std::shared_ptr<NodeArena>> make_private(const Comm& comm);
  // The same, made at the first call, for operations that have this arena's ticket.
  Result<NodeArena*> private_part(const Comm& comm);
  // All ranks have agreed that each has it.
  bool private_part_agreed() const { return is_private_ || private_part_agreed_; }
  void set_private_part_agreed() { private_part_agreed_ = true; }

  std::span<const i64> members() const { return members_; }   // the node's ranks, ascending
  std::span<const i64> first_ranks() const { return first_ranks_; }   // of all nodes, by node
  bool is_private() const { return is_private_; }
  bool whole() const { return !is_private_ && all_ranks_ == count(); }   // there is no other node

  // ---- tickets ----
  i64 issue_ticket();
  bool is_current(i64 ticket) const { return current_ticket_.load(std::memory_order_acquire) == ticket; }
  void return_ticket(i64 ticket);   // also one that was never used

  // ---- gathers ----
  // Who posts last wakes those that wait: all ranks where there is no other node, else the node's first rank.
  enum class Order { kAny, kFirstRankLast };
  void post(ConstBytes mine, Order order = Order::kAny);   // begins the next gather
  // Whether all ranks of the node have contributed to it.
  bool all_posted() const { return std::atomic_ref(result_->posted).load(std::memory_order_acquire) >= gathers_ * count(); }
  // By index in members(); valid until the next post().
  const std::byte* contribution(i64 member) const { return control(member).gathered[(gathers_ - 1) & 1]; }
  // On the first rank, which posts last (kFirstRankLast): whether all others have contributed to the next gather, and what.
  bool others_posted() const { return std::atomic_ref(result_->posted).load(std::memory_order_acquire) >= (gathers_ + 1) * count() - 1; }
  const std::byte* next_contribution(i64 member) const { return control(member).gathered[gathers_ & 1]; }

  // ---- results ----
  // After a gather the first rank may pass a result to the others. They have read it before they post again.
  bool is_first() const { return me_ == 0; }
  void publish(const Status& status, ConstBytes value);   // at most result_room() bytes
  // The result of the last gather is there.
  bool published() const { return std::atomic_ref(result_->published).load(std::memory_order_acquire) >= gathers_; }
  Status result_status() const;
  ConstBytes result() const;                              // where the status is ok
  i64 result_room() const { return result_bytes(all_ranks_); }

  // ---- announcements ----
  // Where there is no other node, the first rank passes bytes to the others and waits for none of them. Once after each gather: whoever takes part in
  // a gather has read what was announced before it.
  bool may_announce() const { return whole() && !announced_since_gather_; }
  void begin_announcement();                  // on each rank
  void announce(ConstBytes value);            // on the first one; at most result_room() bytes are passed on
  bool announced() const { return std::atomic_ref(result_->announced).load(std::memory_order_acquire) >= announcements_; }
  i64 announced_bytes() const { return result_->bytes; }   // of the value, which may be larger than what was passed on
  const std::byte* announcement() const { return reinterpret_cast<const std::byte*>(result_) + kResultHeaderBytes; }

  // ---- areas ----
  std::byte* area(i64 rank) const { return areas_ + local(rank) * area_bytes_; }
  i64 area_bytes() const { return area_bytes_; }
  i64 room_bytes() const { return room_bytes_; }   // for windows: the minimum over all areas of all nodes
  // The leader's counters of each domain's windows on this node (engine/window_buffer.h). They count windows since the
  // segment was created; those of the current operation start at base().
  struct WindowCounters {
    alignas(64) i64 completed;   // windows whose data is written or ready
    i64 available;
  };
  WindowCounters& window_counters(i64 domain) const {
    MERCUTIO_ASSERT(domain >= 0 && domain < all_ranks_);
    return window_counters_[domain];
  }
  // One counter a member: windows that it has finished, and windows for which it has set its requests.
  i64* finished(i64 domain) const { return finished_ + domain * count(); }
  i64* requested(i64 domain) const { return finished_ + (all_ranks_ + domain) * count(); }
  i64 base(i64 domain) const { return bases_[static_cast<size_t>(domain)]; }
  void advance_base(i64 domain, i64 windows) {
    MERCUTIO_ASSERT(windows >= 0);
    bases_[static_cast<size_t>(domain)] += windows;
  }
  i64 my_index() const { return me_; }   // in members()
  void wake(i64 rank) { segment_.wake(local(rank)); }
  void wake_others();

 private:
  struct alignas(64) Control {
    std::byte gathered[2][kGatherBytes];   // of the last two gathers: ranks may still read the previous one
  };
  struct ResultHeader {
    alignas(64) i64 posted;      // contributions to all gathers
    alignas(64) i64 published;   // gathers up to the last one that has a result
    i64 announced;               // announcements
    i64 bytes, error_class, sys_errno;
    char error_text[256];
  };
  // In shared memory.
  static_assert(std::is_trivially_copyable_v<Control> && std::is_trivially_copyable_v<WindowCounters> && std::is_trivially_copyable_v<ResultHeader>);

  NodeArena(Segment& segment, const NodeLayout& layout, i64 ranks);
  i64 count() const { return static_cast<i64>(members_.size()); }
  i64 local(i64 rank) const { return std::lower_bound(members_.begin(), members_.end(), rank) - members_.begin(); }
  Control& control(i64 i) const { return controls_[i]; }

  static_assert(sizeof(Control) == kControlBytes && sizeof(WindowCounters) == kDomainCounterBytes && sizeof(ResultHeader) <= kResultHeaderBytes);

  Segment& segment_;
  std::unique_ptr<Segment> own_segment_;   // of a private one
  bool is_private_ = false;
  std::shared_ptr<NodeArena> private_part_;
  bool private_part_agreed_ = false;
  i64 room_bytes_ = 0;
  std::vector<i64> members_, first_ranks_;
  i64 me_ = 0, all_ranks_;
  Control* controls_;   // one a rank of the node
  ResultHeader* result_;
  WindowCounters* window_counters_;
  i64* finished_;
  std::byte* areas_;
  i64 area_bytes_;
  i64 gathers_ = 0, announcements_ = 0;
  bool announced_since_gather_ = false;
  std::vector<i64> bases_;
  std::mutex tickets_mutex_;
  i64 next_ticket_ MERCUTIO_GUARDED_BY(tickets_mutex_) = 0;
  std::set<i64> returned_early_ MERCUTIO_GUARDED_BY(tickets_mutex_);
  std::atomic<i64> current_ticket_{0};
};

// The right of one operation to use the arena. The destruction of the last reference returns
// it.
class Ticket {
 public:
  explicit Ticket(std::shared_ptr<NodeArena> arena) : arena_(std::move(arena)), number_(arena_->issue_ticket()) {}
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  ~Ticket() { arena_->return_ticket(number_); }
  bool is_current() const { return arena_->is_current(number_); }
  NodeArena& arena() const { return *arena_; }

 private:
  std::shared_ptr<NodeArena> arena_;
  i64 number_;
};
using TicketRef = std::shared_ptr<const Ticket>;

}  // namespace mercutio
