#include "engine/window/window_buffer.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace mercutio {

Slot WindowBuffer::slot(i64 window) const {
  const i64 index = node_buffer_.index * plan_->depth + window % plan_->depth;
  MERCUTIO_ASSERT(window >= 0 && window < windows_ && index < kMostSlots);
  MERCUTIO_ASSERT((index + 1) * plan_->buffer_bytes <= (arena_->area_bytes() - kAreaCounterBytes) / 2);   // the data follows the valid map
  std::byte* area = arena_->area(node_buffer_.leader);
  std::byte* valid = area + kAreaCounterBytes + index * plan_->buffer_bytes;
  std::byte* data = valid + (arena_->area_bytes() - kAreaCounterBytes) / 2;
  return Slot{data, valid, std::atomic_ref<i64>(reinterpret_cast<i64*>(area)[index * kCounterPitch])};
}

i64 WindowBuffer::unit_of(FileRange window) const {
  const bool cut = borders_.cut_at > window.begin && borders_.cut_at < window.end;
  const i64 bits = borders_.unit_bytes | window.begin | window.end | (cut ? borders_.cut_at : 0);
  MERCUTIO_ASSERT(bits > 0 && !window.empty());
  return bits & -bits;
}

ValidMap WindowBuffer::valid_map(i64 number) const {
  const FileRange range = window(number);
  return {slot(number).valid, range.bytes(), std::countr_zero(static_cast<std::uint64_t>(unit_of(range)))};
}

i64 WindowBuffer::lowest(i64* counts) const {
  i64 least = INT64_MAX;
  for (size_t i = 0; i < arena_->members().size(); ++i) {
    least = std::min(least, std::atomic_ref(counts[i]).load(std::memory_order_acquire));
  }
  return least - arena_->base(domain_);
}

bool WindowBuffer::all_above(i64* counts, i64 count) const {
  for (size_t i = 0; i < arena_->members().size(); ++i) {
    if (load(counts[i], std::memory_order_seq_cst) <= count) return false;
  }
  return true;
}

// If several ranks raise their counters at the same time, at least one sees the counters of all: each stores before it loads, in
// one sequentially consistent order.
void WindowBuffer::raise(i64* counts, i64 count) const {
  i64& mine = counts[arena_->my_index()];
  const i64 before = load(mine);
  store(mine, count, std::memory_order_seq_cst);
  const bool leads = node_buffer_.leader == arena_->members()[static_cast<size_t>(arena_->my_index())];
  if (!leads && all_above(counts, before)) arena_->wake(node_buffer_.leader);
}

// The ranks that have not finished all windows may wait for the leader.
bool WindowBuffer::advance(i64& counter, i64 count) const {
  if (load(counter) == count) return false;
  store(counter, count);
  const std::span<const i64> members = arena_->members();
  for (size_t i = 0; i < members.size(); ++i) {
    const bool waits = static_cast<i64>(i) != arena_->my_index() && load(arena_->finished(domain_)[i]) < windows_;
    if (waits) arena_->wake(members[i]);
  }
  return true;
}

}  // namespace mercutio
