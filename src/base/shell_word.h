// A word as a shell needs it written, so that it takes it as it is.
#pragma once

#include <string>

namespace mercutio {

inline std::string shell_word(const std::string& word) {
  const auto plain = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || std::string("_-./:=,@%+^").find(c) != std::string::npos; };
  bool all_plain = !word.empty();
  std::string text = "'";
  for (const char c : word) {
    all_plain = all_plain && plain(c);
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return all_plain ? word : text + "'";
}

}  // namespace mercutio
