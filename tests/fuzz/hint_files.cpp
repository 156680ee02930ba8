// The texts that hints come in (src/model/hints_files.*): TOML files, Cray's variable, ROMIO's files, and the patterns of file
// names. Any text gives sections and problems whose lines are in the text; what was understood, written down again, is
// understood alike; a pattern matches what a matcher of another kind says.
// Input: a byte (which of them), then the text; for patterns, a line with the pattern and the path.
#include "model/hints_files.h"

#include <algorithm>

#include "fuzz.h"

namespace mercutio::fuzz {
namespace {

enum { kToml, kCray, kRomio, kPattern, kKinds };

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    char escaped[8];
    if (code < ' ' || code == 127) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(code));
      out += escaped;
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

void check_lines(const HintFile& file, const std::string& text) {
  const i64 lines = 1 + std::count(text.begin(), text.end(), '\n');
  for (const HintProblem& problem : file.problems)
    FUZZ_CHECK(problem.line >= 0 && problem.line <= lines && !problem.text.empty(), std::to_string(problem.line) + ": " + problem.text);
  for (const HintSection& section : file.sections)
    for (const HintLine& hint : section.hints) FUZZ_CHECK(hint.line >= 0 && hint.line <= lines, hint.key);
  const std::vector<HintProblem> found = check_hint_file(file);
  FUZZ_CHECK(found.size() >= file.problems.size(), "a problem went");
}

// Sections without their lines.
std::vector<HintSection> meaning(std::vector<HintSection> sections) {
  for (HintSection& section : sections)
    for (HintLine& hint : section.hints) hint.line = 0;
  return sections;
}

void check_toml(const std::string& text) {
  const HintFile file = parse_hint_toml(text);
  check_lines(file, text);
  if (file.sections.empty()) return (void)FUZZ_CHECK(file.problems.size() == 1, "neither sections nor an error");
  std::string again;
  if (!file.force.empty()) {
    again = "force = [";
    for (const HintLine& key : file.force) again += quoted(key.key) + ", ";
    again += "]\n";
  }
  for (size_t i = 0; i < file.sections.size(); ++i) {
    if (i > 0) again += "[" + quoted(file.sections[i].glob) + "]\n";
    for (const HintLine& hint : file.sections[i].hints) again += quoted(hint.key) + " = " + quoted(hint.value) + "\n";
  }
  const HintFile other = parse_hint_toml(again);
  FUZZ_CHECK(other.problems.empty(), again);
  FUZZ_CHECK(meaning(other.sections) == meaning(file.sections), again);
  FUZZ_CHECK(other.force.size() == file.force.size(), again);
}

void check_cray(const std::string& text) {
  const HintFile file = parse_cray_hints(text);
  check_lines(file, text);
  std::string again;
  for (const HintSection& section : file.sections) {
    FUZZ_CHECK(!section.glob.empty() && section.glob.find_first_of(",:=") == std::string::npos && !section.hints.empty(), section.glob);
    again += (again.empty() ? "" : ",") + section.glob;
    for (const HintLine& hint : section.hints) {
      FUZZ_CHECK(!hint.key.empty() && hint.key.find_first_of(",:=") == std::string::npos && hint.value.find(',') == std::string::npos, hint.key);
      again += ":" + hint.key + "=" + hint.value;
    }
  }
  const HintFile other = parse_cray_hints(again);
  FUZZ_CHECK(other.problems.empty() && other.sections == file.sections, again);
}

void check_romio(const std::string& text) {
  const HintFile file = parse_romio_file(text);
  check_lines(file, text);
  FUZZ_CHECK(file.sections.size() == 1 && file.sections[0].glob == "*", "one section");
}

// Of * and ? alone, by the table of all prefixes.
bool matches_by_table(const std::string& glob, const std::string& text) {
  std::vector<char> row(text.size() + 1, 0);
  row[0] = 1;
  for (const char c : glob) {
    std::vector<char> next(text.size() + 1, 0);
    next[0] = static_cast<char>(c == '*' && row[0]);
    for (size_t i = 1; i <= text.size(); ++i)
      next[i] = static_cast<char>(c == '*' ? (row[i] || next[i - 1]) : (row[i - 1] && (c == '?' || c == text[i - 1])));
    row = next;
  }
  return row[text.size()] != 0;
}

void check_pattern(const std::string& text) {
  const size_t cut = text.find('\n');
  const std::string glob = text.substr(0, cut).substr(0, 40), path = cut == std::string::npos ? "" : text.substr(cut + 1).substr(0, 60);
  const bool found = glob_matches(glob, path);
  const auto plain = [](const std::string& word) {
    return std::all_of(word.begin(), word.end(), [](char c) { return c > ' ' && c < 127 && c != '[' && c != '\\'; });
  };
  if (!plain(glob) || !plain(path)) return;
  if (glob.find('/') == std::string::npos) {
    FUZZ_CHECK(found == matches_by_table(glob, path.substr(path.rfind('/') + 1)), glob + " and " + path);
  } else if (path.starts_with('/') || found == matches_by_table(glob, path)) {
    FUZZ_CHECK(found == matches_by_table(glob, path), glob + " and " + path);
  } else {
    FUZZ_CHECK(found && !path.starts_with('/'), glob + " and " + path);   // from the root
  }
}

}  // namespace

Input example(Random& random) {
  static const char* const kToml[] = {"cb_nodes = 8\n", "cb_buffer_size = \"16MiB\"\n", "romio_cb_write = true\n", "[\"*.nc\"]\n", "[\"/scratch/*\"]\n",
                                      "force = [\"cb_nodes\"]\n", "file_perm = 0o640\n", "# words\n", "[out.nc]\n", "x = 1.5\n", "striping_unit = 1_048_576\n"};
  static const char* const kCray[] = {"*.nc:", "cb_nodes=8", ":", ",", "romio_cb_write=enable", "*:cb_config_list=*:2,", "x"};
  static const char* const kLines[] = {"cb_nodes 4\n", "# site\n", "broken\n", "romio_cb_write enable\n", "cb_nodes\t 5\n"};
  static const char* const kNames[] = {"*", "?", "a", ".nc", "/", "out", "\n", "[a-c]"};
  const i64 kind = pick(random, 0, kKinds - 1);
  std::string text(1, static_cast<char>(kind));
  for (i64 i = pick(random, 1, 8); i > 0; --i) {
    if (kind == 0) text += kToml[pick(random, 0, 10)];
    if (kind == 1) text += kCray[pick(random, 0, 6)];
    if (kind == 2) text += kLines[pick(random, 0, 4)];
    if (kind == 3) text += kNames[pick(random, 0, 7)];
  }
  return input_of(text);
}

}  // namespace mercutio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mercutio::fuzz;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % kKinds) {
    case kToml: check_toml(text); break;
    case kCray: check_cray(text); break;
    case kRomio: check_romio(text); break;
    default: check_pattern(text);
  }
  return 0;
}
