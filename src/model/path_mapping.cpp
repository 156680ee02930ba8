#include "model/path_mapping.h"

#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/trim.h"

namespace mercutio {
namespace {

constexpr std::string_view kRemote = "mercutio://";

struct Entry {
  std::string_view below, place;
};

std::vector<Entry> entries_of(std::string_view hint) {
  std::vector<Entry> entries;
  while (!hint.empty()) {
    const size_t comma = hint.find(',');
    const std::string_view one = trimmed(hint.substr(0, comma));
    hint.remove_prefix(comma == std::string_view::npos ? hint.size() : comma + 1);
    const size_t equals = one.find('=');
    Entry entry{trimmed(one.substr(0, equals)), equals == std::string_view::npos ? "" : trimmed(one.substr(equals + 1))};
    while (entry.below.size() > 1 && entry.below.ends_with('/')) entry.below.remove_suffix(1);
    entries.push_back(entry);
  }
  return entries;
}

std::string plain(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::absolute(path, failed);
  return failed ? "" : whole.lexically_normal().string();
}

}  // namespace

std::string check_path_mapping(const std::string& hint) {
  for (const Entry& entry : entries_of(hint)) {
    const bool remote = entry.place.starts_with(kRemote) && !entry.place.substr(kRemote.size()).starts_with('/');
    if (entry.below.size() > 1 && entry.below.front() == '/' && remote) continue;
    return "must be /path=mercutio://host/root, several with commas between";
  }
  return "";
}

std::string map_path(const std::string& hint, const std::string& path) {
  const std::string whole = plain(path);
  const std::vector<Entry> entries = entries_of(hint);
  const Entry* best = nullptr;
  for (const Entry& entry : entries) {
    const bool fits = whole.size() > entry.below.size() && whole.starts_with(entry.below) && whole[entry.below.size()] == '/';
    if (fits && (!best || best->below.size() < entry.below.size())) best = &entry;
  }
  if (!best) return "";
  std::string place(best->place);
  const std::string rest = whole.substr(best->below.size() + 1);
  if (!place.ends_with('/')) place += '/';
  return place + rest;
}

}  // namespace mercutio
