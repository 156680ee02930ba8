// A run list: the runs of a window that are valid, in ascending order, as node streams send them (engine/window/stream_format.h).
// Inside engine/ only.
//
// Two numbers describe a run: the units between it and the run before, and its own units, each less the least that it can be. They are
// Rice codes (R. F. Rice, Some Practical Universal Noiseless Coding Techniques, JPL Publication 79-22, 1979). Both ends adapt the
// parameter to the numbers before, as lossless audio formats do. A long list of single pieces at irregular distances takes 10 to 12 bits
// a run where the mean distance is 256 pieces. If runs are close, a list takes about as many bits as the window has units, and at most
// two for each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "base/types.h"

namespace mercutio {

// The Rice parameter for the next number: the binary logarithm of a mean over the last ones, in which a number counts 1/32.
class RiceParameter {
 public:
  int bits() const { return std::max(static_cast<int>(std::bit_width(sum_ >> kShift)) - 1, 0); }
  void saw(std::uint64_t number) { sum_ = sum_ == 0 ? number << kShift : sum_ + number - (sum_ >> kShift); }

 private:
  static constexpr int kShift = 5;
  std::uint64_t sum_ = 0;   // 32 times the mean
};

// A code begins with its quotient in unary: that many zeros, then a one. kEscapeZeros zeros announce a number that is not coded: its width in
// bits, less one, takes kWidthBits, and the number follows.
inline constexpr int kEscapeZeros = 24, kWidthBits = 5;

class RunListWriter {
 public:
  // The gap before a run, and its length: at most 32 bits each.
  void add(std::uint64_t gap, std::uint64_t length) {
    put(gap, gap_);
    put(length, length_);
  }
  std::vector<std::byte> finish() {
    put_bits(0, -used_ & 7);
    return std::move(bytes_);
  }

 private:
  void put(std::uint64_t number, RiceParameter& parameter) {
    const int low = parameter.bits();
    const std::uint64_t quotient = number >> low, rest = number - (quotient << low);
    if (quotient < kEscapeZeros) {
      const int high = static_cast<int>(quotient) + 1;
      put_bits(std::uint64_t{1} << quotient | rest << high, high + low);
    } else {
      const int width = std::bit_width(number);
      put_bits(0, kEscapeZeros);
      put_bits(static_cast<std::uint64_t>(width - 1) | number << kWidthBits, kWidthBits + width);
    }
    parameter.saw(number);
  }
  void put_bits(std::uint64_t bits, int count) {   // at most 57
    word_ |= bits << used_;
    for (used_ += count; used_ >= 8; used_ -= 8, word_ >>= 8) bytes_.push_back(static_cast<std::byte>(word_));
  }

  RiceParameter gap_, length_;
  std::vector<std::byte> bytes_;
  std::uint64_t word_ = 0;   // the bits that fill no byte yet
  int used_ = 0;
};

class RunListReader {
 public:
  explicit RunListReader(ConstBytes list) : list_(list) {}

  // Zeros follow the end of the list.
  std::uint64_t gap() { return take(gap_); }
  std::uint64_t length() { return take(length_); }
  // The numbers taken end in the last byte of the list.
  bool complete() const { return (at_ + 7) / 8 == list_.size(); }

 private:
  std::uint64_t take(RiceParameter& parameter) {
    const std::uint64_t next = peek();
    const int low = parameter.bits(), quotient = std::countr_zero(next);
    std::uint64_t number;
    if (quotient < kEscapeZeros) {
      number = static_cast<std::uint64_t>(quotient) << low | low_bits(next >> (quotient + 1), low);
      at_ += static_cast<size_t>(quotient + 1 + low);
    } else {
      at_ += kEscapeZeros;
      const std::uint64_t plain = peek();
      const int width = static_cast<int>(low_bits(plain, kWidthBits)) + 1;
      number = low_bits(plain >> kWidthBits, width);
      at_ += static_cast<size_t>(kWidthBits + width);
    }
    parameter.saw(number);
    return number;
  }
  static std::uint64_t low_bits(std::uint64_t word, int count) { return word & ((std::uint64_t{1} << count) - 1); }
  std::uint64_t peek() const {   // at least the next 57 bits
    std::uint64_t word = 0;
    const size_t byte = at_ / 8;
    if (byte + sizeof word <= list_.size()) {
      std::memcpy(&word, list_.data() + byte, sizeof word);
      if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    } else {
      for (size_t i = byte; i < list_.size(); ++i) word |= static_cast<std::uint64_t>(list_[i]) << 8 * (i - byte);
    }
    return word >> at_ % 8;
  }

  RiceParameter gap_, length_;
  ConstBytes list_;
  size_t at_ = 0;   // bits taken
};

}  // namespace mercutio
