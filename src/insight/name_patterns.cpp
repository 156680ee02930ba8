#include "insight/name_patterns.h"

#include <algorithm>

namespace mercutio {
namespace {

constexpr std::string_view kNumbers = "0123456789#", kAnyNumber = "###";

// Takes the text up to the next number, and then that number, from the front of `name`.
std::string_view take_text(std::string_view& name) {
  const std::size_t size = std::min(name.find_first_of(kNumbers), name.size());
  const std::string_view text = name.substr(0, size);
  name.remove_prefix(size);
  return text;
}

std::string_view take_number(std::string_view& name) {
  const std::size_t size = std::min(name.find_first_not_of(kNumbers), name.size());
  const std::string_view number = name.substr(0, size);
  name.remove_prefix(size);
  return number;
}

}  // namespace

std::string pattern_key(std::string_view name) {
  std::string key;
  while (!name.empty()) {
    key += take_text(name);
    if (!take_number(name).empty()) key += kAnyNumber;
  }
  return key;
}

std::string widened_pattern(std::string_view pattern, std::string_view name) {
  std::string wide;
  while (!pattern.empty()) {
    wide += take_text(pattern);
    (void)take_text(name);
    const std::string_view known = take_number(pattern), other = take_number(name);
    wide += known == other ? known : kAnyNumber;
  }
  return wide;
}

}  // namespace mercutio
