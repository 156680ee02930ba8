// A text without the blanks at its ends.
#pragma once

#include <string_view>

namespace mercutio {

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const std::size_t from = text.find_first_not_of(kBlanks);
  return from == std::string_view::npos ? std::string_view() : text.substr(from, text.find_last_not_of(kBlanks) - from + 1);
}

}  // namespace mercutio
