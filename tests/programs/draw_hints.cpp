// What a hint or variable may be set to comes from its line in the table: the range and the unit, or the words that its
// sentence names. So a new one is drawn as soon as it is there. What is left out says why.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "draw.h"

namespace mercutio::programs {
namespace {

struct HintRow {
  std::string_view name;
  i64 low, high;
  std::string_view unit, when, sentence;
};

constexpr HintRow kHints[] = {
#define MERCUTIO_HINT(type, name, initial, alias, low, high, unit, when, agree, doc) \
  {#name, low, high, unit, #when, doc},
#include "model/hints.def"
#undef MERCUTIO_HINT
};

struct VariableRow {
  std::string_view reader, name, holds;
};

constexpr VariableRow kVariables[] = {
#define MERCUTIO_ENVIRONMENT(reader, name, holds, doc) {reader, #name, holds},
#include "model/environment.def"
#undef MERCUTIO_ENVIRONMENT
};

// The last two change what a program means, the first needs a server.
constexpr std::string_view kHintsLeftOut[] = {"mercutio_remote", "mercutio_dry_run", "file_perm"};

// The words of one item of a list: lower case, without what is in brackets.
std::vector<std::string> words_of_item(std::string_view item) {
  std::vector<std::string> words;
  std::string word;
  int depth = 0;
  for (const char c : std::string(item) + " ") {
    if (std::islower(static_cast<unsigned char>(c)) || std::isdigit(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
      continue;
    }
    if (!word.empty() && depth == 0 && word != "or") words.push_back(word);
    word.clear();
    depth += (c == '(') - (c == ')');
  }
  return words;
}

// The values that a sentence lists, with commas and "or" between them: items of one word, and the last word of the
// first item.
std::vector<std::string> values_in(std::string_view sentence) {
  std::string list(sentence.substr(0, sentence.find_first_of(";.")));
  for (size_t at = 0; (at = list.find(" or ", at)) != std::string::npos;) list.replace(at, 4, ",");
  std::vector<std::string> values;
  bool first = true;
  for (size_t at = 0; at <= list.size(); first = false) {
    const size_t comma = std::min(list.find(',', at), list.size());
    const std::vector<std::string> words = words_of_item(list.substr(at, comma - at));
    if (words.size() == 1 || (first && !words.empty())) values.push_back(words.back());
    at = comma + 1;
  }
  return values;
}

std::string number(Draw& draw, const HintRow& hint) {
  static const std::vector<i64> kBytes = {0, 1, 64, 100, 512, 1000, 4096, 5000, 8192, 65536, 100000, 1048576};
  static const std::vector<i64> kCounts = {-1, 0, 1, 2, 3, 4, 5, 7, 16, 64};
  std::vector<i64> values;
  for (const i64 value : hint.unit == "bytes" ? kBytes : kCounts) {
    if (value >= hint.low && value <= hint.high) values.push_back(value);
  }
  values.push_back(hint.low);
  return std::to_string(draw.one_of(values));
}

std::string value_of(Draw& draw, const HintRow& hint) {
  if (hint.unit == "toggle") return draw.one_of(std::vector<std::string>{"enable", "disable", "automatic"});
  if (hint.unit == "bool") return draw.percent(50) ? "true" : "false";
  if (hint.unit != "text") return number(draw, hint);
  if (hint.name == "cb_config_list") return draw.one_of(std::vector<std::string>{"*:1", "*:2", "*:3", "*:*"});
  const size_t colon = hint.sentence.find(':');
  if (colon == std::string_view::npos) return "";
  const std::vector<std::string> words = values_in(hint.sentence.substr(colon + 1));
  return words.empty() ? "" : draw.one_of(words);
}

bool left_out(const HintRow& hint) {
  if (hint.when == "kOutput") return true;  // they report only
  return std::find(std::begin(kHintsLeftOut), std::end(kHintsLeftOut), hint.name) != std::end(kHintsLeftOut);
}

std::string joined(const Info& info, std::string_view between) {
  std::string text;
  for (const auto& [key, value] : info) text += (text.empty() ? "" : std::string(between)) + key + "=" + value;
  return text;
}

// A variable's value, empty: not set.
std::string variable(Draw& draw, const VariableRow& row, const std::string& folder) {
  if (row.reader != "library" || row.name == "MERCUTIO_DISABLE") return "";  // the test would be one of the host
  if (row.name == "MERCUTIO_HINTS") return joined(draw_hints(draw, draw.percent(30)), ";");
  if (row.name == "MPICH_MPIIO_HINTS") return "*:" + joined(draw_hints(draw, false), ":");
  if (row.name == "MERCUTIO_SHARED_POINTER_DIR") return folder;
  if (row.name == "MERCUTIO_REPORT") return folder + "/report";
  if (row.name == "MERCUTIO_TRACE") return folder + "/trace";
  // Files and folders of hints, profiles and connections: what they say comes by MERCUTIO_HINTS as well.
  if (row.holds.find("file") == 0 || row.holds.find("TOML") != std::string_view::npos ||
      row.holds.find("director") != std::string_view::npos || row.holds == "a file name") {
    return "";
  }
  const std::vector<std::string> words = values_in(row.holds);
  return words.empty() ? "" : draw.one_of(words);
}

// Values that mean something only together: a stripe that is no multiple of the collective buffer, on several servers.
void draw_stripes(Draw& draw, Info& info) {
  for (const char* name : {"striping_unit", "striping_factor", "cb_buffer_size", "romio_cb_write", "romio_cb_read"}) {
    std::erase_if(info, [name](const auto& hint) { return hint.first == name; });
  }
  const i64 buffer = draw.one_of(std::vector<i64>{64, 100, 300, 512});
  info.emplace_back("striping_unit", std::to_string(buffer * draw.between(1, 3) + draw.between(1, buffer - 1)));
  info.emplace_back("striping_factor", std::to_string(draw.between(2, 5)));
  info.emplace_back("cb_buffer_size", std::to_string(buffer));
  info.emplace_back("romio_cb_write", "enable");
  info.emplace_back("romio_cb_read", "enable");
}

}  // namespace

Info draw_hints(Draw& draw, bool dense) {
  Info info;
  const i64 rows = static_cast<i64>(std::size(kHints));
  const i64 wanted = draw.between(1, 6);
  for (const HintRow& hint : kHints) {
    const bool taken = dense ? draw.percent(50) : draw.between(1, rows) <= wanted;
    if (!taken || left_out(hint)) continue;
    const std::string value = value_of(draw, hint);
    if (!value.empty()) info.emplace_back(hint.name, value);
  }
  if (draw.percent(10)) draw_stripes(draw, info);
  return info;
}

Info draw_environment(Draw& draw, const std::string& folder) {
  Info environment;
  for (const VariableRow& row : kVariables) {
    if (!draw.percent(25)) continue;
    const std::string value = variable(draw, row, folder);
    if (!value.empty()) environment.emplace_back(row.name, value);
  }
  return environment;
}

}  // namespace mercutio::programs
