#include "base/frames.h"

#include <array>
#include <new>
#include <utility>

namespace mercutio {
namespace {

constexpr std::size_t kClassBytes = 256, kClasses = 32;   // up to 8 KiB
constexpr std::size_t kKept = kKeepsFrames ? 8 : 0;       // per class

struct Kept {
  Kept* next;
  std::size_t others;   // number of frames behind this one in the list
};

// Trivial, so that an access is one look-up of thread-local storage. With a destructor, every access would test whether it is
// constructed.
struct FrameCache {
  std::array<Kept*, kClasses> classes{};
  bool emptied_at_end = false, ended = false;
  i64 taken = 0;
};
thread_local constinit FrameCache cache;

struct EmptiesCache {
  ~EmptiesCache() {
    cache.ended = true;
    for (Kept*& first : cache.classes)
      while (first) ::operator delete(std::exchange(first, first->next));
  }
  void register_destructor() {}   // any use of the object registers its destructor
};
thread_local EmptiesCache empties_cache;

}  // namespace

void* take_frame(std::size_t bytes) {
  const std::size_t size_class = (bytes - 1) / kClassBytes;
  FrameCache& mine = cache;
  ++mine.taken;
  if (size_class >= kClasses) return ::operator new(bytes);
  Kept*& first = mine.classes[size_class];
  if (first) return std::exchange(first, first->next);
  return ::operator new((size_class + 1) * kClassBytes);
}

void free_frame(void* frame, std::size_t bytes) noexcept {
  const std::size_t size_class = (bytes - 1) / kClassBytes;
  FrameCache& mine = cache;
  if (size_class >= kClasses || mine.ended) return ::operator delete(frame);
  if (!std::exchange(mine.emptied_at_end, true)) empties_cache.register_destructor();
  Kept*& first = mine.classes[size_class];
  const std::size_t others = first ? first->others + 1 : 0;
  if (others >= kKept) return ::operator delete(frame);
  first = new (frame) Kept{first, others};
}

i64 frames_taken() { return cache.taken; }

}  // namespace mercutio
