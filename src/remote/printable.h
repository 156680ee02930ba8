// Makes text from a peer safe to print: removes what a terminal would interpret.
#pragma once

#include <string>
#include <string_view>

namespace mercutio::remote {

inline constexpr size_t kMostShown = 2000;

// At most `most` bytes of UTF-8, followed by "..." if truncated. Control characters (C0, C1, DEL), bidirectional controls and
// invalid UTF-8 are replaced by '?'.
std::string printable(std::string_view text, size_t most = kMostShown);

}  // namespace mercutio::remote
