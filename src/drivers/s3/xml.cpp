#include "xml.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace mercutio_s3 {
namespace {

constexpr std::pair<std::string_view, char> kEntities[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}};

std::string utf8(unsigned code) {
  static constexpr unsigned kFirst[] = {0, 0xc0, 0xe0, 0xf0};
  const unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;   // bytes after the first
  std::string out(1, static_cast<char>(kFirst[more] | code >> (6 * more)));
  for (unsigned left = more; left-- > 0;) out += static_cast<char>(0x80 | (code >> (6 * left) & 0x3f));
  return out;
}

// Of "&#9;" or "&#x9;"; "" where it is no character's.
std::string character_of(std::string_view reference) {
  const bool hex = reference.starts_with("&#x");
  const auto digits = reference.substr(hex ? 3 : 2);
  unsigned code = 0;
  const bool number = std::from_chars(digits.begin(), digits.end(), code, hex ? 16 : 10).ptr == digits.end() - 1;
  const bool exists = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return number && exists ? utf8(code) : "";
}

// What an entity or a reference to a character stands for; "" where it is neither.
std::string meaning_of(std::string_view reference) {
  if (reference.starts_with("&#")) return character_of(reference);
  const auto* const found = std::find_if(std::begin(kEntities), std::end(kEntities), [&](const auto& entity) { return entity.first == reference; });
  return found == std::end(kEntities) ? "" : std::string(1, found->second);
}

std::string unescaped(std::string_view text) {
  constexpr size_t kLongest = 12;   // of a reference
  std::string out;
  while (!text.empty()) {
    const size_t end = text.front() == '&' ? text.substr(0, kLongest).find(';') : std::string_view::npos;
    const std::string meaning = end == std::string_view::npos ? "" : meaning_of(text.substr(0, end + 1));
    out += meaning.empty() ? std::string(1, text.front()) : meaning;
    text.remove_prefix(meaning.empty() ? 1 : end + 1);
  }
  return out;
}

}  // namespace

std::vector<std::string_view> elements(std::string_view xml, std::string_view name) {
  std::vector<std::string_view> found;
  const std::string open = "<" + std::string(name), close = "</" + std::string(name) + ">";
  for (size_t at = xml.find(open); at != std::string_view::npos; at = xml.find(open, at)) {
    const size_t after = at + open.size();
    const bool whole = after < xml.size() && (xml[after] == '>' || xml[after] == ' ');
    const size_t begin = whole ? xml.find('>', after) : std::string_view::npos, end = whole ? xml.find(close, after) : std::string_view::npos;
    if (whole && (begin == std::string_view::npos || end == std::string_view::npos || end <= begin)) break;
    if (whole) found.push_back(xml.substr(begin + 1, end - begin - 1));
    at = whole ? end + close.size() : after;
  }
  return found;
}

std::string text_of(std::string_view xml, std::string_view name) {
  const auto found = elements(xml, name);
  return found.empty() ? "" : unescaped(found.front());
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto* const found = std::find_if(std::begin(kEntities), std::end(kEntities), [&](const auto& entity) { return entity.second == c; });
    if (found == std::end(kEntities)) out += c;
    else out += found->first;
  }
  return out;
}

}  // namespace mercutio_s3
