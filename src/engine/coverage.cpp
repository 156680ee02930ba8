#include "engine/coverage.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace mercutio {

void Coverage::add(i64 begin, i64 end) {
  MERCUTIO_ASSERT(begin >= 0 && end <= bytes_);
  if (begin >= end) return;
  const size_t first = static_cast<size_t>(begin / 64), last = static_cast<size_t>((end - 1) / 64);
  const std::uint64_t head = ~std::uint64_t{0} << (begin % 64);
  const std::uint64_t tail = ~std::uint64_t{0} >> (63 - (end - 1) % 64);
  if (first == last) {
    words_[first] |= head & tail;
    return;
  }
  words_[first] |= head;
  std::fill(words_.begin() + static_cast<i64>(first) + 1, words_.begin() + static_cast<i64>(last), ~std::uint64_t{0});
  words_[last] |= tail;
}

// The first bit at or after `from` that differs from the bits of `skipped`.
i64 Coverage::next(i64 from, std::uint64_t skipped) const {
  if (from >= bytes_) return bytes_;
  size_t word = static_cast<size_t>(from / 64);
  std::uint64_t bits = (words_[word] ^ skipped) & (~std::uint64_t{0} << (from % 64));
  while (bits == 0) {
    if (++word == words_.size()) return bytes_;
    bits = words_[word] ^ skipped;
  }
  return std::min(bytes_, static_cast<i64>(word) * 64 + std::countr_zero(bits));
}

}  // namespace mercutio
