// Parts of a text. Not by a stream: the first one in a process takes 37,000 instructions.
#pragma once

#include <string_view>
#include <vector>

namespace mercutio {

// What lies between separators. There is no part behind the last one, and an empty text has none.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

}  // namespace mercutio
