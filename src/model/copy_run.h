// copy_run: most runs of a map are short, and a call of memcpy takes longer than to copy them.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/types.h"

namespace mercutio {

// Two loads and two stores that overlap.
template <class Word>
void copy_ends(std::byte* to, const std::byte* from, std::size_t bytes) {
  Word first, last;
  std::memcpy(&first, from, sizeof(Word));
  std::memcpy(&last, from + bytes - sizeof(Word), sizeof(Word));
  std::memcpy(to, &first, sizeof(Word));
  std::memcpy(to + bytes - sizeof(Word), &last, sizeof(Word));
}

struct Block16 {
  std::uint64_t words[2];
};
struct Block32 {
  std::uint64_t words[4];
};

inline void copy_run(std::byte* to, const std::byte* from, i64 count) {
  const auto bytes = static_cast<std::size_t>(count);
  if (bytes == 8) return void(std::memcpy(to, from, 8));
  if (bytes > 64 || bytes < 4) return void(std::memcpy(to, from, bytes));
  if (bytes > 32) return copy_ends<Block32>(to, from, bytes);
  if (bytes >= 16) return copy_ends<Block16>(to, from, bytes);
  bytes > 8 ? copy_ends<std::uint64_t>(to, from, bytes) : copy_ends<std::uint32_t>(to, from, bytes);
}

}  // namespace mercutio
