#include "insight/name_patterns.h"

#include <algorithm>
#include <cstdint>

#include "base/hash.h"
#include "base/utf8.h"

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

std::string_view directory_part(std::string_view name) {
  return name.substr(0, name.substr(0, name.find('*')).rfind('/') + 1);
}

std::string_view ending_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot < directory_part(name).size() ? "" : name.substr(dot);
}

std::string_view without_label(std::string_view name) {
  const std::size_t label = std::string_view(kOtherFiles).size();
  return is_other_files(name) ? name.substr(std::min(name.size(), label + 1)) : name;
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

bool is_other_files(std::string_view name) {
  return name.starts_with(kOtherFiles);
}

std::string other_files(std::string_view one, std::string_view other) {
  constexpr std::size_t kLongest = 200;
  const std::string_view first = without_label(one), second = without_label(other), folder = directory_part(first), others = directory_part(second);
  const auto common = static_cast<std::size_t>(std::mismatch(folder.begin(), folder.end(), others.begin(), others.end()).first - folder.begin());
  const std::string where(folder.substr(0, folder.substr(0, common).rfind('/') + 1)), ending(ending_of(first) == ending_of(second) ? ending_of(first) : "");
  if (where.size() + ending.size() > kLongest || where.empty() + ending.empty() == 2) return kOtherFiles;
  return std::string(kOtherFiles) + " " + where + "*" + ending;
}

std::string recorded_name(std::string_view name, std::size_t most) {
  if (name.size() <= most) return std::string(name);
  const std::string number = "~" + std::to_string(hash_of_text(name)) + "~";
  return number + std::string(last_bytes(name, most - number.size()));
}

std::string record_key(std::string_view name) {
  return is_other_files(name) ? kOtherFiles : std::string(name);
}

}  // namespace mercutio
