// Memory of coroutine frames. A collective access needs some ten of them, most larger than what malloc keeps ready for a thread, so each
// thread keeps a few of each size that it has freed. A frame may be freed by another thread than the one that took it.
#pragma once

#include <cstddef>

#include "base/types.h"

namespace mercutio {

void* take_frame(std::size_t bytes);   // throws std::bad_alloc
void free_frame(void* frame, std::size_t bytes) noexcept;
i64 frames_taken();   // by this thread so far

// For what else lives as long as one access.
template <class T>
struct FrameAllocator {
  using value_type = T;
  FrameAllocator() = default;
  template <class U>
  FrameAllocator(const FrameAllocator<U>&) noexcept {}
  T* allocate(std::size_t count) { return static_cast<T*>(take_frame(count * sizeof(T))); }
  void deallocate(T* object, std::size_t count) noexcept { free_frame(object, count * sizeof(T)); }
  bool operator==(const FrameAllocator&) const = default;
};

}  // namespace mercutio
