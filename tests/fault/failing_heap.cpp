#include "failing_heap.h"

#include <malloc.h>

#include <cstdlib>
#include <new>

thread_local Heap heap;

namespace {

void* take(std::size_t bytes) {
  if (heap.short_of_memory && (heap.until_failure-- == 0 || static_cast<long>(bytes) > heap.bytes_left)) {
    ++heap.failures;
    return nullptr;
  }
  void* const at = std::malloc(bytes > 0 ? bytes : 1);
  if (heap.short_of_memory && at) heap.bytes_left -= static_cast<long>(malloc_usable_size(at));
  return at;
}

__attribute__((noinline)) void give(void* at) {
  const bool counts = heap.short_of_memory && at && heap.bytes_left < LONG_MAX / 2;
  if (counts) heap.bytes_left += static_cast<long>(malloc_usable_size(at));
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
