// Sizes as people write them: "65536", "64k", "16MiB". A unit is a power of 1024 whichever way it is written, as ROMIO's and
// Lustre's tools read "4m".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"

namespace mercutio {

// Of a unit in small letters; "" is 1.
std::optional<i64> unit_factor(std::string_view unit);
// A number that is not negative, with or without a unit; nothing else in `text`.
std::optional<i64> parse_size(std::string_view text);
// The same number with the largest unit that leaves it whole: "16MiB", "100000".
std::string size_text(i64 bytes);

}  // namespace mercutio
