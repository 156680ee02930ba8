// Cost: linear in the text; a pattern is matched by fnmatch.
#include "model/hints_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

#include "base/absolute_path.h"
#include "base/trim.h"

namespace mercutio {
namespace {

std::vector<std::string> trimmed_parts(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t from = 0;
  for (size_t at = text.find(separator); at != std::string::npos; at = text.find(separator, from)) {
    parts.emplace_back(trimmed(text.substr(from, at - from)));
    from = at + 1;
  }
  parts.emplace_back(trimmed(text.substr(from)));
  return parts;
}

// One "glob:key=value:..." of Cray's variable. A part without = belongs to the value before it, as in cb_config_list=*:1.
void read_cray_entry(HintFile& file, const std::string& entry) {
  const std::vector<std::string> parts = trimmed_parts(entry, ':');
  HintSection section{parts[0], {}};
  if (section.glob.empty() || section.glob.find('=') != std::string::npos) {
    file.problems.push_back({0, "'" + entry + "': a file name pattern must come first, as in *:" + (section.glob.empty() ? "cb_nodes=8" : section.glob)});
    return;
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    if (equals == std::string::npos && !section.hints.empty()) {
      section.hints.back().value += ":" + parts[i];
    } else if (equals == std::string::npos || trimmed(parts[i].substr(0, equals)).empty()) {
      file.problems.push_back({0, "'" + parts[i] + "' must be key=value"});
    } else {
      section.hints.push_back({std::string(trimmed(parts[i].substr(0, equals))), std::string(trimmed(parts[i].substr(equals + 1))), 0});
    }
  }
  if (section.hints.empty()) file.problems.push_back({0, "'" + section.glob + "' has no hints; a pattern and its hints are separated by :"});
  else file.sections.push_back(std::move(section));
}

bool matches(const std::string& glob, const std::string& name) {
  return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

// The second counts.
bool order_decides(const HintLine& first, const HintLine& second) {
  const auto applied = [](const HintLine& one, const HintLine& other) {
    HintSet set;
    apply_hints(set, {{one.key, one.value, {}}, {other.key, other.value, {}}}, HintTime::kOpen);
    return set.values;
  };
  return applied(first, second) != applied(second, first);
}

}  // namespace

bool glob_matches(const std::string& glob, const std::string& path) {
  if (glob == "*") return true;
  if (glob.find('/') == std::string::npos) return matches(glob, path.substr(path.rfind('/') + 1));
  const bool is_path = path.find("://") == std::string::npos;
  return matches(glob, path) || (is_path && matches(glob, absolute_path(path)));
}

HintFile parse_romio_file(const std::string& text) {
  HintFile file;
  HintSection all{"*", {}};
  std::istringstream lines(text);
  i64 number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string word(trimmed(line));
    if (word.empty() || word.front() == '#') continue;
    const size_t space = word.find_first_of(" \t");
    if (space == std::string::npos) {
      file.problems.push_back({number, "'" + word + "' has no value; a line is a key, a blank and a value"});
      continue;
    }
    const std::string key = word.substr(0, space);
    const auto repeated = [&key](const HintLine& hint) { return hint.key == key; };
    if (std::any_of(all.hints.begin(), all.hints.end(), repeated)) {
      file.problems.push_back({number, key + ": an earlier line has it, and the first counts"});
      continue;
    }
    all.hints.push_back({key, std::string(trimmed(word.substr(space))), number});
  }
  file.sections.push_back(std::move(all));
  return file;
}

InfoItems parse_romio_hints(const std::string& text) {
  InfoItems items;
  for (const HintSection& section : parse_romio_file(text).sections)
    for (const HintLine& hint : section.hints) items.emplace_back(hint.key, hint.value);
  return items;
}

HintFile parse_cray_hints(const std::string& text) {
  HintFile file;
  for (const std::string& entry : trimmed_parts(text, ','))
    if (!entry.empty()) read_cray_entry(file, entry);
  return file;
}

std::vector<HintProblem> conflicts_of(const std::vector<HintLine>& hints) {
  std::vector<HintProblem> problems;
  std::map<std::string, const HintLine*> latest;   // by name of a hint
  for (const HintLine& hint : hints) {
    for (const std::string& name : hint_names(hint.key)) {
      const HintLine*& before = latest[name];
      if (before != nullptr && order_decides(*before, hint))
        problems.push_back({hint.line, hint.key + " = " + hint.value + ": " + before->key + " = " + before->value +
                                           (before->line > 0 ? " in line " + std::to_string(before->line) : "") + " sets " + name + ", too; " + hint.key + " counts"});
      before = &hint;
    }
  }
  return problems;
}

std::vector<std::string> conflicts_of(const InfoItems& items, const std::string& where) {
  std::vector<HintLine> hints;
  for (const auto& [key, value] : items) hints.push_back({key, value, 0});
  std::vector<std::string> problems;
  for (const HintProblem& problem : conflicts_of(hints)) problems.push_back(where + ": " + problem.text);
  return problems;
}

std::string why_not_forced(const std::string& key) {
  if (!hint_names(key).empty()) return "";
  const std::string meant = closest_hint(key);
  return "force: " + key + ": unknown key" + (meant.empty() ? "" : "; did you mean " + meant + "?");
}

std::vector<HintProblem> check_hint_file(const HintFile& file) {
  std::vector<HintProblem> problems = file.problems;
  for (const HintSection& section : file.sections) {
    for (HintProblem& conflict : conflicts_of(section.hints)) problems.push_back(std::move(conflict));
    for (const HintLine& hint : section.hints) {
      HintSet alone;
      apply_hints(alone, {AskedHint{hint.key, hint.value, {}}}, HintTime::kOpen);
      const HintNote& note = alone.notes.front();
      if (!note.applied()) problems.push_back({hint.line, hint.key + " = " + hint.value + ": " + note.why_not});
    }
  }
  for (const HintLine& key : file.force) {
    const std::vector<std::string> names = hint_names(key.key);
    const bool given = std::any_of(file.sections.begin(), file.sections.end(), [&](const HintSection& section) {
      return std::any_of(section.hints.begin(), section.hints.end(), [&](const HintLine& hint) { return !names.empty() && hint_names(hint.key) == names; });
    });
    const std::string why_not = why_not_forced(key.key);
    if (!why_not.empty()) problems.push_back({key.line, why_not});
    else if (!given) problems.push_back({key.line, "force: " + key.key + ": no section gives it a value"});
  }
  std::stable_sort(problems.begin(), problems.end(), [](const HintProblem& a, const HintProblem& b) { return a.line < b.line; });
  return problems;
}

}  // namespace mercutio
