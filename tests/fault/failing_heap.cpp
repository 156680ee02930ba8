#include "failing_heap.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>

thread_local Heap heap;

namespace {

bool fails(std::size_t bytes) {
  if (!heap.short_of_memory) return false;
  const bool in_turn = heap.every > 0 && ++heap.allocations % heap.every == 0;
  const bool failing = heap.until_failure-- == 0 || static_cast<long>(bytes) > heap.bytes_left || in_turn;
  if (failing) ++heap.failures;
  return failing;
}

void* take(std::size_t bytes) {
  if (fails(bytes)) return nullptr;
  void* const at = std::malloc(bytes > 0 ? bytes : 1);
  if (heap.short_of_memory && at) heap.bytes_left -= static_cast<long>(malloc_usable_size(at));
  return at;
}

bool counts_what_is_given() { return heap.short_of_memory && heap.bytes_left < LONG_MAX / 2; }

__attribute__((noinline)) void give(void* at) {
  if (at && counts_what_is_given()) heap.bytes_left += static_cast<long>(malloc_usable_size(at));
  std::free(at);
}

}  // namespace

void* operator new(std::size_t bytes) {
  for (;;) {
    if (void* const at = take(bytes)) return at;
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* at) noexcept { give(at); }
void operator delete(void* at, std::size_t) noexcept { give(at); }

extern "C" void* mmap(void* at, std::size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  const bool is_memory = (flags & MAP_ANONYMOUS) != 0;
  if (is_memory && fails(bytes)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  void* const mapped = reinterpret_cast<void*>(::syscall(SYS_mmap, at, bytes, protection, flags, fd, offset));
  if (is_memory && mapped != MAP_FAILED && heap.short_of_memory) heap.bytes_left -= static_cast<long>(bytes);
  return mapped;
}

// Of memory: no file is mapped in these tests.
extern "C" int munmap(void* at, std::size_t bytes) noexcept {
  if (counts_what_is_given()) heap.bytes_left += static_cast<long>(bytes);
  return static_cast<int>(::syscall(SYS_munmap, at, bytes));
}
