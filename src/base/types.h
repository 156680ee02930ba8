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

enum class Direction { kRead, kWrite };

}  // namespace mercutio
