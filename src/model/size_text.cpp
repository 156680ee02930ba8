#include "model/size_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <string>

namespace mercutio {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::optional<i64> unit_factor(std::string_view unit) {
  if (unit.empty() || unit == "b") return 1;
  if (is_one_of(unit, {"k", "kb", "kib"})) return KiB;
  if (is_one_of(unit, {"m", "mb", "mib"})) return MiB;
  if (is_one_of(unit, {"g", "gb", "gib"})) return 1024 * MiB;
  if (is_one_of(unit, {"t", "tb", "tib"})) return 1024 * 1024 * MiB;
  return std::nullopt;
}

std::optional<i64> parse_size(std::string_view text) {
  i64 number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  std::string unit(text.substr(static_cast<size_t>(end - text.data())));
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::optional<i64> factor = unit_factor(unit);
  if (!factor || number > std::numeric_limits<i64>::max() / *factor) return std::nullopt;
  return number * *factor;
}

std::string size_text(i64 bytes) {
  const char* const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes != 0 && bytes % KiB == 0 && unit + 1 < std::size(units)) {
    bytes /= KiB;
    ++unit;
  }
  return std::to_string(bytes) + units[unit];
}

}  // namespace mercutio
