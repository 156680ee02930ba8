// Text of the other end as people may read it: without what a terminal would act on.
#pragma once

#include <string>
#include <string_view>

namespace mercutio::remote {

inline constexpr size_t kMostShown = 2000;

// At most `most` bytes of UTF-8, then "...". Control characters (C0, C1, DEL), those that change the direction of writing, and
// bytes that are not UTF-8 become '?'.
std::string printable(std::string_view text, size_t most = kMostShown);

}  // namespace mercutio::remote
