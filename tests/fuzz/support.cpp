// fail(), Taker, and an operator new that counts and has a limit. Linked into every target.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "fuzz.h"

namespace {

std::atomic<std::int64_t> used{0}, highest{0};

void* take(std::size_t bytes, std::size_t alignment) {
  if (bytes > static_cast<std::size_t>(mercutio::fuzz::kMostMemory) ||
      used.load() + static_cast<std::int64_t>(bytes) > mercutio::fuzz::kMostMemory)
    throw std::bad_alloc();
  void* memory = alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)
                                                       : std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  const auto now = used += static_cast<std::int64_t>(malloc_usable_size(memory));
  for (auto before = highest.load(); before < now && !highest.compare_exchange_weak(before, now);) {
  }
  return memory;
}

void give_back(void* memory) noexcept {
  if (memory == nullptr) return;
  used -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
  return take(bytes, 0);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return take(bytes, 0);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  give_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  give_back(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  give_back(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  give_back(memory);
}

namespace mercutio::fuzz {

void fail(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  std::abort();
}

namespace {
std::int64_t used_at_start = 0;
}

void start_measuring_memory() {
  used_at_start = used.load();
  highest = used_at_start;
}
i64 most_memory_used() {
  return highest.load() - used_at_start;
}

Input input_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return Input(bytes.begin(), bytes.end());
}

i64 Taker::byte() {
  if (rest_.empty()) return 0;
  const auto value = std::to_integer<i64>(rest_.front());
  rest_ = rest_.subspan(1);
  return value;
}

i64 Taker::word() {
  i64 value = 0;
  const std::size_t here = std::min(rest_.size(), sizeof value);
  if (here > 0) std::memcpy(&value, rest_.data(), here);
  rest_ = rest_.subspan(here);
  return value;
}

i64 Taker::pick(i64 low, i64 high) {
  const auto range = static_cast<std::uint64_t>(high - low) + 1;
  const auto value = static_cast<std::uint64_t>(range <= 256 ? byte() : word());
  return low + static_cast<i64>(range == 0 ? value : value % range);
}

i64 Taker::number() {
  const i64 form = byte();
  if (form < 128) return form % 16;
  if (form < 192) return byte() - 128;
  if (form < 240) {  // 2^n - 1, 2^n, 2^n + 1 and their negatives
    const i64 shift = byte() % 63;
    const i64 value = (i64{1} << shift) + form % 3 - 1;
    return form % 2 ? -value : value;
  }
  if (form == 255) return INT64_MAX;
  if (form == 254) return INT64_MIN;
  return word();
}

std::string Taker::text(i64 most_bytes) {
  const i64 wanted = most_bytes <= 256 ? byte() : byte() * 256 + byte();
  const auto size = std::min({static_cast<std::size_t>(wanted), static_cast<std::size_t>(most_bytes), rest_.size()});
  std::string out(reinterpret_cast<const char*>(rest_.data()), size);
  rest_ = rest_.subspan(size);
  return out;
}

}  // namespace mercutio::fuzz
