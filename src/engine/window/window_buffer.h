// WindowBuffer: the windows of one domain in the shared memory of a node, and the counters that synchronise the ranks of the node
// with the leader of the buffer. The counters count windows of the current operation. Inside engine/ only.
//
// A window occupies one of plan.depth slots. The valid map has one byte per unit of the window: a rank sets it when it supplies or
// requests the unit. A unit is the largest power of two that divides the begin and the end of every piece. Stores of single bytes
// suffice, also if several ranks fill one window. An area consists of a page of counters, one half for valid maps and one half for
// data. The halves do not depend on the operation: valid maps are zero between operations, so they must not be where another
// operation stores data.
#pragma once

#include "engine/agreement/node_arena.h"
#include "engine/window/valid_map.h"
#include "plan/node_buffers.h"
#include "plan/plan.h"

namespace mercutio {

struct Slot {
  std::byte* data = nullptr;
  std::byte* valid = nullptr;    // the flags of its valid map; all zero between windows
  std::atomic_ref<i64> filled;   // bytes copied into the slot; each rank adds its own
};

// The file offsets at which pieces of an access begin and end.
struct PieceBorders {
  i64 unit_bytes = 1;   // divides all of them
  i64 cut_at = 0;       // except this file offset, at which pieces were cut
};

class WindowBuffer {
 public:
  static constexpr i64 kCounterPitch = 8;   // in counters: one per cache line
  static_assert(kMostSlots * kCounterPitch * static_cast<i64>(sizeof(i64)) <= kAreaCounterBytes);

  WindowBuffer(NodeArena& arena, const Plan& plan, PieceBorders borders, i64 domain, NodeBuffer node_buffer)
      : arena_(&arena), plan_(&plan), borders_(borders), domain_(domain), node_buffer_(node_buffer), windows_(plan.windows(domain)) {}

  const Plan& plan() const { return *plan_; }
  i64 domain() const { return domain_; }
  i64 leader() const { return node_buffer_.leader; }
  bool has_stream() const { return node_buffer_.index > 0; }   // a node stream connects it to an aggregator on another node
  i64 windows() const { return windows_; }
  FileRange window(i64 number) const { return plan_->window(domain_, number); }
  i64 depth() const { return plan_->depth; }
  Slot slot(i64 window) const;
  i64 unit_of(FileRange window) const;
  ValidMap valid_map(i64 window) const;

  // The first step of a leader: its counters are behind if it was not the leader in the last operation, or if that operation failed.
  void begin() {
    store(counters().available, 0);
    set_completed(0);
  }
  // Windows that the leader has completed: they are written, or their data is in the slot.
  i64 completed() const { return load(counters().completed); }
  void set_completed(i64 count) { advance(counters().completed, count); }
  // Windows whose slots are available for requests (reads that are sparse or through a node stream).
  i64 available() const { return load(counters().available); }
  bool set_available(i64 count) { return advance(counters().available, count); }
  // The counters of this rank, and the minimum over the ranks of the node. The rank that raises the minimum wakes the leader.
  void set_finished(i64 count) { raise(arena_->finished(domain_), count); }
  i64 finished_by_all() const { return lowest(arena_->finished(domain_)); }
  void set_requested(i64 count) { raise(arena_->requested(domain_), count); }
  i64 requested_by_all() const { return lowest(arena_->requested(domain_)); }
  // This rank has finished all windows. Every rank of the node calls it once per operation.
  void leave() { arena_->advance_base(domain_, windows_); }

 private:
  NodeArena::WindowCounters& counters() const { return arena_->window_counters(domain_); }
  i64 load(i64& counter, std::memory_order order = std::memory_order_acquire) const { return std::atomic_ref(counter).load(order) - arena_->base(domain_); }
  void store(i64& counter, i64 count, std::memory_order order = std::memory_order_release) const {
    std::atomic_ref(counter).store(arena_->base(domain_) + count, order);
  }
  bool advance(i64& counter, i64 count) const;   // of the leader; false: it has that value
  i64 lowest(i64* counts) const;
  bool all_above(i64* counts, i64 count) const;
  void raise(i64* counts, i64 count) const;

  NodeArena* arena_;
  const Plan* plan_;
  PieceBorders borders_;
  i64 domain_;
  NodeBuffer node_buffer_;
  i64 windows_;
};

}  // namespace mercutio
