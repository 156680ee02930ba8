#include "remote/printable.h"

#include <algorithm>

namespace mercutio::remote {
namespace {

// The length of the character at the beginning of `text`; 0: not valid UTF-8. Overlong forms and surrogates are invalid.
size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(0);
  const size_t bytes = first < 0x80 ? 1 : first >= 0xC2 && first < 0xE0 ? 2 : first >= 0xE0 && first < 0xF0 ? 3 : first >= 0xF0 && first < 0xF5 ? 4 : 0;
  for (size_t i = 1; i < bytes; ++i)
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  const bool wrong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F) || (first == 0xF0 && byte(1) < 0x90) ||
                     (first == 0xF4 && byte(1) > 0x8F);
  return wrong ? 0 : bytes;
}

bool acts_on_terminals(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  if (character.size() == 2) return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
  constexpr std::string_view kDirections[] = {"\u061C", "\u200E", "\u200F", "\u2028", "\u2029", "\u202A", "\u202B", "\u202C",
                                              "\u202D", "\u202E", "\u2066", "\u2067", "\u2068", "\u2069"};
  return std::find(std::begin(kDirections), std::end(kDirections), character) != std::end(kDirections);
}

}  // namespace

std::string printable(std::string_view text, size_t most) {
  std::string shown;
  while (!text.empty()) {
    const size_t bytes = character_bytes(text);
    if (shown.size() + std::max<size_t>(bytes, 1) > most) return shown + "...";
    if (bytes == 0 || acts_on_terminals(text.substr(0, bytes)))
      shown += '?';
    else
      shown += text.substr(0, bytes);
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return shown;
}

}  // namespace mercutio::remote
