// NodeArena: manages the shared memory of a node (Comm::segment()). It provides gathers without messages, a result that the node's
// first rank publishes to the others, and for every rank an area with the windows of the domains of which it is the leader.
//
// One operation uses the arena at a time, in the order of tickets. Tickets are issued in the same order on all ranks. An operation
// begins and ends with a gather, which may be the same one, so no rank still reads the counters of one operation when the next begins.
// Only a result may be published once without a gather before it (may_publish()).
// All counters only grow, over all operations and files that use the segment. None is ever reset.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <type_traits>
#include <vector>

#include "base/assert.h"
#include "base/thread_annotations.h"
#include "comm/comm.h"
#include "plan/node_layout.h"
#include "plan/schedule.h"

namespace mercutio {

class NodeArena {
 public:
  static constexpr i64 kGatherBytes = 960;   // maximum contribution of one rank

  // The arena of the Comm's segment. Null if the Comm has no segment, or, on all ranks, if the counters leave no room for windows
  // on some node. The Comm must outlive the arena.
  static std::shared_ptr<NodeArena> of(Comm& comm);

  // An arena in private memory, as if this rank were alone on its node. Fails with kNoMem.
  static Result<std::shared_ptr<NodeArena>> make_private(const Comm& comm);
  // The private arena of this rank, which may be this one; null until all ranks have agreed that each of them has one. For operations that hold a
  // ticket of this arena.
  NodeArena* private_part() { return is_private() ? this : private_part_.get(); }
  void set_private_part(std::shared_ptr<NodeArena> part) { private_part_ = std::move(part); }

  std::span<const i64> members() const { return members_; }   // the node's ranks, ascending
  std::span<const i64> first_ranks() const { return first_ranks_; }   // of all nodes, by node number
  bool is_private() const { return own_segment_ != nullptr; }
  // The ranks of all nodes. Made by the first call, as most ranks need none but those of their own node.
  const ByNode& ranks_by_node(const Topology& topology);
  const RankPlace& place() const { return place_; }   // of this rank; also in a private arena
  bool whole() const { return !is_private() && all_ranks_ == count(); }   // the node holds all ranks

  // ---- tickets ----
  i64 issue_ticket() { return next_ticket_.fetch_add(1); }
  bool is_current(i64 ticket) const { return current_ticket_.load() == ticket; }
  void return_ticket(i64 ticket);   // also if the ticket was never used

  // ---- gathers ----
  // Each rank has a cache line for the number of the gather and a contribution of up to 56 bytes. A longer one is in Control. The
  // lines of a gather are adjacent, so that looking at those of many ranks touches few pages. A rank that has looked in vain says so
  // before it sleeps. Then the last rank that posts wakes those that wait: all ranks, or, if the first rank then publishes a result,
  // only that one.
  void post(ConstBytes mine, bool publishes);   // begins the next gather and contributes to it
  // Whether all ranks of the node have contributed to the gather. If not, the next backoff() of this thread may sleep.
  bool all_posted();
  // By index in members(). Valid until the next post().
  const std::byte* contribution(i64 member) const {
    if (member == me_) return mine_;
    const Line& line = this->line(member, gathers_);
    return line.posted & 1 ? controls_[member].contributions[gathers_ & 1] : line.data;
  }

  // ---- results ----
  // The first rank publishes bytes to the others: after a gather, or without one and waiting for none of them, if
  // may_publish(). The others read them before they post again.
  bool is_first() const { return me_ == 0; }
  // There is no other node, and each rank has read what was published before.
  bool may_publish() const { return whole() && !published_since_gather_; }
  void begin_publication() {               // on each rank, unless post() has begun it
    ++publications_;
    published_since_gather_ = true;
  }
  void publish(const Status& status, ConstBytes value);   // of the value, at most result_room() bytes are passed on
  bool published() const {
    return std::atomic_ref(result_->published).load(std::memory_order_acquire) >= publications_;
  }
  Status result_status() const;
  bool result_fits() const { return result_->bytes >= 0 && result_->bytes <= result_room(); }
  ConstBytes result() const;               // only if the status is ok and it fits
  Status take_result(Bytes into) const;    // a result of that size
  i64 result_room() const { return result_bytes(all_ranks_); }

  // ---- areas ----
  std::byte* area(i64 rank) const { return areas_ + local(rank) * area_bytes_; }
  i64 area_bytes() const { return area_bytes_; }
  i64 room_bytes() const { return room_bytes_; }   // for windows: the minimum over all areas of all nodes
  // The leader's counters of the windows of one domain on this node (engine/window/window_buffer.h). They count windows since the segment
  // was created. Those of the current operation start at base().
  struct WindowCounters {
    alignas(64) i64 completed;   // windows whose data is written or ready
    i64 available;
  };
  WindowCounters& window_counters(i64 domain) const {
    MERCUTIO_ASSERT(domain >= 0 && domain < all_ranks_);
    return window_counters_[domain];
  }
  // One counter per member: the windows it has finished, and the windows for which it has set its requests.
  i64* finished(i64 domain) const { return finished_ + domain * count(); }
  i64* requested(i64 domain) const { return finished_ + (all_ranks_ + domain) * count(); }
  i64 base(i64 domain) const { return bases_[static_cast<size_t>(domain)]; }
  void advance_base(i64 domain, i64 windows) {
    MERCUTIO_ASSERT(windows >= 0);
    bases_[static_cast<size_t>(domain)] += windows;
  }
  // Counters of engine/io/sieve_gate.h.
  i64& writing(i64 member) const { return controls_[member].writing; }
  i64& sieving() const { return result_->sieving; }
  i64 my_index() const { return me_; }   // index of this rank in members()
  void wake(i64 rank) { segment_.wake(local(rank)); }
  // Returns `over`. If it is false, the next step of the operation is possible when another rank wakes this one, and not before.
  bool expecting_wake(bool over) {
    if (!over) segment_.expect_wake();
    return over;
  }
  void wake_others();

 private:
  // There are those of the last two gathers, as other ranks may still read the previous one.
  struct alignas(64) Line {
    i64 posted;                                    // twice the number of the gather; plus 1: the contribution isn't here, but in Control
    std::byte data[64 - sizeof(i64)];
  };
  struct alignas(64) Control {
    std::byte contributions[2][kGatherBytes];
    alignas(64) i64 writing;    // engine/io/sieve_gate.h
  };
  struct ResultHeader {
    alignas(64) i64 awaited[2];  // of the last two gathers: its number if some rank sleeps until all have posted
    alignas(64) i64 sieving;     // engine/io/sieve_gate.h
    alignas(64) i64 published;   // number of the last result
    i64 bytes, error_class, sys_errno;
    char error_text[256];
  };
  // These types are in shared memory.
  static_assert(std::is_trivially_copyable_v<Line> && std::is_trivially_copyable_v<Control> && std::is_trivially_copyable_v<WindowCounters> && std::is_trivially_copyable_v<ResultHeader>);

  NodeArena(Segment& segment, const NodeLayout& layout, const Comm& comm);
  i64 count() const { return static_cast<i64>(members_.size()); }
  i64 local(i64 rank) const { return std::lower_bound(members_.begin(), members_.end(), rank) - members_.begin(); }
  Line& line(i64 member, i64 gather) const { return lines_[(gather & 1) * count() + member]; }
  i64 first_missing(i64 gather, i64 from) const;

  static_assert(2 * sizeof(Line) == kGatherLineBytes && sizeof(Control) == kControlBytes && sizeof(WindowCounters) == kDomainCounterBytes && sizeof(ResultHeader) <= kResultHeaderBytes);

  Segment& segment_;
  std::unique_ptr<Segment> own_segment_;   // of a private arena; null: it is of the node
  std::shared_ptr<NodeArena> private_part_;
  i64 room_bytes_ = 0;
  std::vector<i64> members_, first_ranks_;
  i64 me_ = 0, all_ranks_;
  const RankPlace place_;
  std::once_flag ranks_sorted_;
  std::optional<ByNode> ranks_by_node_;
  Line* lines_;         // two per rank of the node
  Control* controls_;   // one per rank
  ResultHeader* result_;
  WindowCounters* window_counters_;
  i64* finished_;
  std::byte* areas_;
  i64 area_bytes_;
  i64 gathers_ = 0, publications_ = 0;
  i64 looked_at_ = 0;   // the gather whose posts are awaited
  i64 arrived_ = 0;     // the members before this one have posted it
  // What this rank has contributed. Of a short contribution there is a copy, as a rank that reads a cache line may take it from the one that wrote it.
  const std::byte* mine_ = nullptr;
  alignas(i64) std::byte mine_copy_[sizeof Line::data];
  bool published_since_gather_ = false;
  std::vector<i64> bases_;
  std::atomic<i64> next_ticket_{0}, current_ticket_{0};
  std::mutex tickets_mutex_;
  std::set<i64> returned_early_ MERCUTIO_GUARDED_BY(tickets_mutex_);
  std::atomic<bool> any_early_{false};   // whether returned_early_ has any; changed under the mutex
};

// The right of one operation to use the arena. The arena must outlive the ticket. The destructor returns the ticket.
class Ticket {
 public:
  explicit Ticket(NodeArena& arena) : arena_(arena), number_(arena.issue_ticket()) {}
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  ~Ticket() { arena_.return_ticket(number_); }
  bool is_current() const { return arena_.is_current(number_); }
  NodeArena& arena() const { return arena_; }

 private:
  NodeArena& arena_;
  const i64 number_;
};
using TicketRef = std::shared_ptr<const Ticket>;

}  // namespace mercutio
