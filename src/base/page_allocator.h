// An allocator for large lists (maps of millions of entries). It gets all pages in one system call and returns them in one.
// Page faults one by one cost more than all work on the list, and Open MPI configures malloc to keep freed memory.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#ifndef MADV_POPULATE_WRITE   // not in the headers of musl and of glibc before 2.35
#define MADV_POPULATE_WRITE 23
#endif

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
    // Optional: kernels before 5.14 fault the pages in one by one. No huge pages: clearing them is slower in virtual machines.
    (void)madvise(at, bytes, MADV_POPULATE_WRITE);
    return static_cast<T*>(at);
  }
  void deallocate(T* at, std::size_t count) {
    if (count * sizeof(T) < kLargeBytes) return ::operator delete(at);
    munmap(at, count * sizeof(T));
  }
  // resize() leaves new elements uninitialised.
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
