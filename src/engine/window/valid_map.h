// ValidMap: which bytes of a window have been supplied, or are requested. One flag, a byte of 0 or 1, for each unit of
// the window. Inside engine/ only.
#pragma once

#include <cstring>

#include "base/types.h"

namespace mercutio {

struct ValidMap {
  std::byte* flags = nullptr;
  i64 bytes = 0;    // of the window
  int shift = 0;    // a unit is 1 << shift bytes

  // The first byte at or after `from` that is valid, or is not; `bytes` if there is none.
  i64 next_valid(i64 from) const { return next(from, std::byte{1}); }
  i64 next_hole(i64 from) const { return next(from, std::byte{0}); }
  bool empty() const { return next_valid(0) == bytes; }
  void clear() const { std::memset(flags, 0, static_cast<size_t>(bytes >> shift)); }

 private:
  i64 next(i64 from, std::byte value) const {
    i64 at = from >> shift;
    const i64 units = bytes >> shift;
    if (at >= units) return bytes;
    if (flags[at] == value) return from;
    const std::uint64_t others = value == std::byte{0} ? 0x0101010101010101 : 0;
    for (std::uint64_t eight; at + 8 <= units; at += 8) {
      std::memcpy(&eight, flags + at, sizeof eight);
      if (eight != others) break;
    }
    while (at < units && flags[at] != value) ++at;
    return at << shift;
  }
};

}  // namespace mercutio
