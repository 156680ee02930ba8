// Allocation of coroutine frames. A collective access needs about ten frames. Most are larger than the chunks that malloc caches
// per thread, so each thread caches a few freed frames of each size. A frame may be freed by another thread than the one that
// allocated it.
#pragma once

#include <cstddef>

#include "base/types.h"

namespace mercutio {

#if defined(__has_feature)   // clang's
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MERCUTIO_CLANG_SANITIZES
#endif
#endif
// Sanitizers must see when each frame is allocated and freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(MERCUTIO_CLANG_SANITIZES)
inline constexpr bool kKeepsFrames = false;
#else
inline constexpr bool kKeepsFrames = true;
#endif

void* take_frame(std::size_t bytes);   // throws std::bad_alloc
void free_frame(void* frame, std::size_t bytes) noexcept;
i64 frames_taken();   // number of frames that this thread has allocated

// The same allocator for other objects that live as long as one access.
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
