// Types that every layer shares: integer width, byte spans, direction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mercutio {

using i64 = std::int64_t;
using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

inline constexpr i64 KiB = 1024;
inline constexpr i64 MiB = 1024 * KiB;

// No file reaches farther: offsets from here on are marks of locks (storage/writer_group.h), and sums of two offsets fit into an i64.
inline constexpr i64 kMostFileBytes = (i64{1} << 62) - 2;

enum class Direction { kRead, kWrite };

struct FileRange {
  i64 begin = 0, end = 0;
  i64 bytes() const { return end - begin; }
  bool empty() const { return end <= begin; }
  bool operator==(const FileRange&) const = default;
};

}  // namespace mercutio
