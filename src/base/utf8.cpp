#include "base/utf8.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace mercutio {
namespace {

struct Range {
  char32_t first, last;
};

// The blocks that matter in names, of UAX 11 (wide) and of combining marks.
constexpr std::array<Range, 9> kWide = {{{0x1100, 0x115F}, {0x2E80, 0xA4CF}, {0xAC00, 0xD7A3}, {0xF900, 0xFAFF}, {0xFE30, 0xFE6F}, {0xFF00, 0xFF60},
                                         {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}}};
constexpr std::array<Range, 6> kNone = {{{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}}};

// Controls (C0, DEL, C1), line separators, and what turns the direction of text (UAX 9).
constexpr std::array<Range, 6> kControls = {{{0x00, 0x1F}, {0x7F, 0x9F}, {0x061C, 0x061C}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}}};

template <std::size_t N>
bool is_in(const std::array<Range, N>& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(), [c](const Range& one) { return c >= one.first && c <= one.last; });
}

// Of a whole character.
char32_t code_of(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  char32_t code = character.size() == 1 ? first : first & (0xFFU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) code = code << 6 | (static_cast<unsigned char>(character[i]) & 0x3FU);
  return code;
}

i64 columns_of(std::string_view character) {
  const char32_t code = code_of(character);
  return is_in(kNone, code) ? 0 : is_in(kWide, code) ? 2 : 1;
}

}  // namespace

std::size_t utf8_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t size = first < 0x80 ? 1 : first >= 0xC2 && first < 0xE0 ? 2 : first >= 0xE0 && first < 0xF0 ? 3 : first >= 0xF0 && first < 0xF5 ? 4 : 0;
  if (size == 0 || size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  const auto second = size > 1 ? static_cast<unsigned char>(text[1]) : 0;
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool none = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);   // half of a pair of UTF-16, or beyond the last character
  return overlong || none ? 0 : size;
}

std::string_view first_bytes(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  for (int rest = 0; rest < 3 && most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80; ++rest) --most;
  return text.substr(0, most);
}

std::string_view last_bytes(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  text.remove_prefix(text.size() - most);
  for (int rest = 0; rest < 3 && !text.empty() && (static_cast<unsigned char>(text[0]) & 0xC0) == 0x80; ++rest) text.remove_prefix(1);
  return text;
}

// The byte for which \xHH at the front stands; -1: it is something else.
static int escaped_byte(std::string_view text) {
  if (text.size() < 4 || text[0] != '\\' || text[1] != 'x') return -1;
  unsigned value = 0;
  const auto [stop, error] = std::from_chars(text.data() + 2, text.data() + 4, value, 16);
  return error == std::errc() && stop == text.data() + 4 ? static_cast<int>(value) : -1;
}

template <class Shown>
static std::string with_escapes(std::string_view text, Shown shown) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const std::size_t size = utf8_character(text);
    const std::string_view one = text.substr(0, std::max<std::size_t>(1, size));
    const auto byte = static_cast<unsigned char>(text[0]);
    if (size == 0 || escaped_byte(text) >= 0)
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    else
      out += shown(one);
    text.remove_prefix(one.size());
  }
  return out;
}

std::string escaped_bytes(std::string_view text) {
  return with_escapes(text, [](std::string_view one) { return one; });
}

std::string unescaped_bytes(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const int byte = escaped_byte(text);
    out += byte >= 0 ? static_cast<char>(byte) : text[0];
    text.remove_prefix(byte >= 0 ? 4 : 1);
  }
  return out;
}

std::string printable(std::string_view text) {
  return with_escapes(text, [](std::string_view one) { return is_in(kControls, code_of(one)) ? std::string_view(" ") : one; });
}

i64 text_columns(std::string_view text) {
  i64 columns = 0;
  while (!text.empty()) {
    const std::size_t size = utf8_character(text);
    columns += size == 0 ? 1 : columns_of(text.substr(0, size));
    text.remove_prefix(std::max<std::size_t>(1, size));
  }
  return columns;
}

std::string padded(std::string text, i64 columns) {
  text.append(static_cast<std::size_t>(std::max<i64>(0, columns - text_columns(text))), ' ');
  return text;
}

std::string last_columns(const std::string& text, i64 columns) {
  i64 left = text_columns(text);
  if (left <= columns) return text;
  std::string_view end = text;
  while (!end.empty() && left > columns - 3) {
    const std::size_t size = std::max<std::size_t>(1, utf8_character(end));
    left -= text_columns(end.substr(0, size));
    end.remove_prefix(size);
  }
  return "..." + std::string(end);
}

}  // namespace mercutio
