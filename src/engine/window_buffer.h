// WindowBuffer: the windows of one domain in the memory of a node, and the counters by which its ranks and the node buffer's
// host know how far each of them is. All counts are of windows of this operation. Inside engine/ only.
//
// A window goes through one of plan.depth slots. Which of its bytes are meant is kept as one flag a unit, the unit being
// the largest power of two that divides where any piece begins or ends: a plain store, also where several ranks fill one
// window. An area holds a page of counters, then half for the valid map and half for data, whatever the sizes of an operation:
// valid maps are zero between operations, so no other operation may have its data there.
#pragma once

#include <span>

#include "engine/node_arena.h"
#include "plan/node_buffers.h"
#include "plan/plan.h"

namespace mercutio {

struct Slot {
  std::byte* data = nullptr;
  std::byte* valid = nullptr;    // one byte a unit; all zero between windows
  std::atomic_ref<i64> filled;   // bytes left in it, counted by those who left them
};

// Where pieces of an access begin and end.
struct PieceBorders {
  i64 unit_bytes = 1;   // divides all of them
  i64 cut_at = 0;       // but for this file offset, where pieces were cut off
};

class WindowBuffer {
 public:
  static constexpr i64 kCounterPitch = 8;   // in counters: a cache line each
  static_assert(kMostSlots * kCounterPitch * static_cast<i64>(sizeof(i64)) <= kAreaCounterBytes);

  WindowBuffer(NodeArena& arena, const Plan& plan, PieceBorders borders, i64 domain, NodeBuffer node_buffer)
      : arena_(&arena), plan_(&plan), borders_(borders), domain_(domain), node_buffer_(node_buffer), windows_(plan.windows(domain)) {}

  const Plan& plan() const { return *plan_; }
  i64 domain() const { return domain_; }
  i64 leader() const { return node_buffer_.leader; }
  bool has_stream() const { return node_buffer_.index > 0; }   // the aggregator is on another node
  i64 windows() const { return windows_; }
  FileRange window(i64 number) const { return plan_->window(domain_, number); }
  i64 depth() const { return plan_->depth; }
  i64 largest() const { return plan_->buffer_bytes; }   // bytes of a window at most
  Slot slot(i64 window) const;
  i64 unit_of(FileRange window) const;
  i64 units_of(FileRange window) const { return window.bytes() / unit_of(window); }

  // Windows the leader is through with: written, or their data is there to be taken.
  i64 completed() const { return load(counters().completed); }
  void set_completed(i64 count) { store(counters().completed, count); }
  // Windows of which a rank may say what it needs (reading through a node stream).
  i64 available() const { return load(counters().available); }
  void set_available(i64 count) { store(counters().available, count); }
  // Of this rank, and the lowest of all the node's.
  void set_finished(i64 count) { store(arena_->finished(domain_)[arena_->my_index()], count); }
  i64 finished_by_all() const { return lowest(arena_->finished(domain_)); }
  void set_requested(i64 count) { store(arena_->requested(domain_)[arena_->my_index()], count); }
  i64 requested_by_all() const { return lowest(arena_->requested(domain_)); }
  void wake_leader() { arena_->wake(leader()); }
  void wake_others() { arena_->wake_others(); }
  // All windows are behind this rank. Once an operation, by every rank of the node.
  void leave() { arena_->advance_base(domain_, windows_); }

 private:
  NodeArena::WindowCounters& counters() const { return arena_->window_counters(domain_); }
  i64 load(i64& counter) const { return std::atomic_ref(counter).load(std::memory_order_acquire) - arena_->base(domain_); }
  void store(i64& counter, i64 count) const { std::atomic_ref(counter).store(arena_->base(domain_) + count, std::memory_order_release); }
  i64 lowest(i64* counts) const;

  NodeArena* arena_;
  const Plan* plan_;
  PieceBorders borders_;
  i64 domain_;
  NodeBuffer node_buffer_;
  i64 windows_;
};

// The first flag at or after `from` that is not `value`; `count` if there is none.
i64 first_other(const std::byte* valid, i64 from, i64 count, std::byte value);
// Calls run(begin, end), in units, for each run of valid units.
template <class Run>
void for_each_run(const std::byte* valid, i64 count, Run run) {
  for (i64 at = first_other(valid, 0, count, std::byte{0}); at < count;) {
    const i64 end = first_other(valid, at, count, std::byte{1});
    run(at, end);
    at = first_other(valid, end, count, std::byte{0});
  }
}

}  // namespace mercutio
