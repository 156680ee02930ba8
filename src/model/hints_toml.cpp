// Mercutio's own hint files. The TOML itself is taken apart by toml++ (MIT licence), header only, which nothing else in the
// library sees; here its tree becomes sections and hints in the order in which they are written.
#include "model/hints_files.h"

// toml++ 3.3 asserts, or lets clang assume, that a table's name begins as one may, and then reports [*.nc] as the error it is.
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_UNDEF_MACROS 1
#include <toml++/toml.h>

#include <algorithm>

namespace mercutio {
namespace {

struct Entry {
  std::string key;
  i64 line = 0, column = 0;
  const toml::node* node = nullptr;
  bool bare = false;   // without quotes
};

// toml++ keeps tables sorted by name.
std::vector<Entry> as_written(const toml::table& table) {
  std::vector<Entry> entries;
  for (const auto& [key, node] : table) {
    const toml::source_position at = key.source().begin, end = key.source().end;
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 128; };   // columns are characters
    const bool bare = at.line == end.line && end.column - at.column == key.str().size() && std::all_of(key.str().begin(), key.str().end(), is_ascii);
    entries.push_back({std::string(key.str()), static_cast<i64>(at.line), static_cast<i64>(at.column), &node, bare});
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  return entries;
}

// Octal digits are what permissions are written in, with TOML's 0o or without.
std::string permissions_text(const toml::value<int64_t>& number) {
  if ((number.flags() & toml::value_flags::format_as_octal) == toml::value_flags::none) return std::to_string(number.get());
  std::string digits;
  for (auto left = static_cast<std::uint64_t>(number.get()); left > 0; left /= 8) digits.insert(digits.begin(), static_cast<char>('0' + left % 8));
  return digits.empty() ? "0" : digits;
}

void read_hint(HintFile& file, HintSection& section, const Entry& entry) {
  if (entry.key == "force" || entry.key == "jobs") {
    file.problems.push_back({entry.line, entry.key + ": is of the whole file and must stand before its first section"});
    return;
  }
  HintLine hint{entry.key, "", entry.line};
  if (const auto* text = entry.node->as_string()) hint.value = text->get();
  else if (const auto* number = entry.node->as_integer()) hint.value = entry.key == "file_perm" ? permissions_text(*number) : std::to_string(number->get());
  else if (const auto* truth = entry.node->as_boolean()) hint.value = truth->get() ? "true" : "false";
  else {
    const bool table = entry.node->is_table();
    file.problems.push_back({entry.line, entry.key + ": " + (table ? "a section's name needs quotes, as in [\"*.nc\"], and sections don't nest"
                                                                     : "a value must be text in quotes, a whole number, true or false")});
    return;
  }
  section.hints.push_back(std::move(hint));
}

void read_force(HintFile& file, const Entry& entry) {
  const toml::array* keys = entry.node->as_array();
  if (!keys) file.problems.push_back({entry.line, "force: must be a list of hints, as in force = [\"romio_ds_write\"]"});
  for (size_t i = 0; keys && i < keys->size(); ++i) {
    const toml::node& key = *keys->get(i);
    const i64 line = static_cast<i64>(key.source().begin.line);
    if (key.is_string()) file.force.push_back({key.as_string()->get(), "", line});
    else file.problems.push_back({line, "force: the name of a hint must be text in quotes; the others in the list are forced"});
  }
}

void read_jobs(HintFile& file, const Entry& entry) {
  const auto* pattern = entry.node->as_string();
  if (pattern) file.jobs = {entry.key, pattern->get(), entry.line};
  else file.problems.push_back({entry.line, "jobs: must be a pattern of file names before the first section, as in jobs = \"/logs/%Y/%M/%u-%j\""});
}

// A bare name is probably meant as the name of a part of this file, for there is hardly a pattern of files that needs no quotes.
void read_section(HintFile& file, const Entry& entry) {
  const toml::table& table = *entry.node->as_table();
  const bool every_file = entry.key == "hints" && entry.bare;
  const bool nested = std::any_of(table.begin(), table.end(), [](const auto& inner) { return inner.second.is_table(); });   // what is in it has its problem
  if (entry.bare && !every_file && !nested)
    file.problems.push_back({entry.line, "[" + entry.key + "]: only files of this name get what it says. Hints for every file stand before the first section, and a pattern of file names needs quotes, as in [\"*.nc\"]"});
  HintSection section{every_file ? "*" : entry.key, {}};
  for (const Entry& inner : as_written(table)) read_hint(file, section, inner);
  file.sections.push_back(std::move(section));
}

// Keys that are evidence for people are passed over.
void read_profile(HintFile& file, const toml::table& table) {
  const auto text = [&](const char* key) {
    const auto* value = table.get_as<std::string>(key);
    return value ? value->get() : std::string();
  };
  file.profile.application = text("application");
  file.profile.file_system = text("file_system");
  if (const auto* ranks = table.get_as<int64_t>("ranks")) file.profile.ranks = ranks->get();
}

}  // namespace

HintFile parse_hint_toml(const std::string& text) {
  HintFile file;
  const toml::parse_result parsed = toml::parse(std::string_view(text));
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    file.problems.push_back({static_cast<i64>(error.source().begin.line), std::string(error.description())});
    return file;
  }
  file.sections.push_back({"*", {}});   // what stands before the sections
  for (const Entry& entry : as_written(parsed.table())) {
    if (entry.key == "force") {
      read_force(file, entry);
    } else if (entry.key == "jobs" && (entry.bare || !entry.node->is_table())) {
      read_jobs(file, entry);
    } else if (entry.key == "profile" && entry.node->is_table()) {
      read_profile(file, *entry.node->as_table());
    } else if (entry.node->is_table()) {
      read_section(file, entry);
    } else {
      read_hint(file, file.sections.front(), entry);
    }
  }
  return file;
}

}  // namespace mercutio
