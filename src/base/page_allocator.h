// An allocator for large lists, maps of millions of entries: their pages come at once, and go back to the
// system at once. Page by page, memory costs more than all that is done with it; and Open MPI tells malloc to keep what is
// freed.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <utility>
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
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kLargeBytes) return static_cast<T*>(::operator new(bytes));
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    // A wish: a kernel before 5.14 brings them one by one. No huge ones: clearing them takes longer where memory is virtual.
    (void)madvise(at, bytes, MADV_POPULATE_WRITE);
    return static_cast<T*>(at);
  }
  void deallocate(T* at, std::size_t count) {
    if (count * sizeof(T) < kLargeBytes) return ::operator delete(at);
    munmap(at, count * sizeof(T));
  }
  // resize() leaves what is new as it is.
  template <class U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Values>
  void construct(U* at, Values&&... values) {
    ::new (static_cast<void*>(at)) U(std::forward<Values>(values)...);
  }
  bool operator==(const PageAllocator&) const { return true; }
};

template <class T>
using LargeVector = std::vector<T, PageAllocator<T>>;

}  // namespace mercutio
