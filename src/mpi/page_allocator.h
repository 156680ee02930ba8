// An allocator for large arrays that live for one call: their pages go back to the system at once. Open MPI tells malloc to
// keep what is freed, and a map of a million entries passes through several of them.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <vector>

namespace mercutio {

template <class T>
struct PageAllocator {
  using value_type = T;
  PageAllocator() = default;
  template <class U>
  PageAllocator(const PageAllocator<U>&) {}

  static constexpr std::size_t kLargeBytes = 64 * 1024;
  T* allocate(std::size_t count) {
    if (count * sizeof(T) < kLargeBytes) return static_cast<T*>(::operator new(count * sizeof(T)));
    void* at = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    return static_cast<T*>(at);
  }
  void deallocate(T* at, std::size_t count) {
    if (count * sizeof(T) < kLargeBytes) return ::operator delete(at);
    munmap(at, count * sizeof(T));
  }
  bool operator==(const PageAllocator&) const { return true; }
};

template <class T>
using PassingVector = std::vector<T, PageAllocator<T>>;

}  // namespace mercutio
