#include "engine/frames.h"

#include <array>
#include <new>

namespace mercutio {
namespace {

constexpr std::size_t kClassBytes = 256, kClasses = 32;   // up to 8 KiB
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kKept = 0;   // sanitizers are to see each frame's life
#else
constexpr std::size_t kKept = 8;   // of a class
#endif

struct Kept {
  Kept* next;
};

// Trivial, so that it outlives all objects of its thread.
thread_local bool ended = false;

class FrameCache {
 public:
  constexpr FrameCache() = default;
  ~FrameCache() {
    ended = true;
    for (std::size_t i = 0; i < kClasses; ++i)
      while (void* frame = take(i)) ::operator delete(frame);
  }
  void* take(std::size_t size_class) {
    Class& of = classes_[size_class];
    Kept* const first = of.first;
    if (!first) return nullptr;
    of.first = first->next;
    --of.count;
    return first;
  }
  bool keep(void* frame, std::size_t size_class) {
    Class& of = classes_[size_class];
    if (of.count == kKept) return false;
    of.first = new (frame) Kept{of.first};
    ++of.count;
    return true;
  }

 private:
  struct Class {
    Kept* first = nullptr;
    std::size_t count = 0;
  };
  std::array<Class, kClasses> classes_{};
};
thread_local constinit FrameCache cache;

}  // namespace

void* take_frame(std::size_t bytes) {
  const std::size_t size_class = (bytes - 1) / kClassBytes;
  if (size_class >= kClasses) return ::operator new(bytes);
  void* const kept = ended ? nullptr : cache.take(size_class);
  return kept ? kept : ::operator new((size_class + 1) * kClassBytes);
}

void free_frame(void* frame, std::size_t bytes) noexcept {
  const std::size_t size_class = (bytes - 1) / kClassBytes;
  if (size_class >= kClasses || ended || !cache.keep(frame, size_class)) ::operator delete(frame);
}

}  // namespace mercutio
