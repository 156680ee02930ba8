// Hints (src/model/hints.*): key/value pairs of an info object, "k=v;k=v" strings, lines of a ROMIO hints file. Whatever is
// asked for, every value stays in its range; what is applied is what an own reading of the text gives; what isn't leaves
// everything as it was and says why; and what is in effect can be written down and read back.
// Input: a byte (when the hints are given), then text; lines are "key=value" pairs, and the whole is read in all three ways.
#include "model/hints_files.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "fuzz.h"

namespace mercutio::fuzz {
namespace {

struct Known {
  std::string name, aliases, unit;
  i64 low, high;
  HintTime time;
  bool agree;
};

const std::vector<Known>& table() {
  constexpr auto kOpen = HintTime::kOpen;
  constexpr auto kAnyTime = HintTime::kAnyTime;
  constexpr auto kOutput = HintTime::kOutput;
  static const std::vector<Known> rows = {
#define MERCUTIO_HINT(type, name, initial, alias, low, high, unit, when, agree, doc) {#name, alias, unit, low, high, when, agree},
#include "model/hints.def"
#undef MERCUTIO_HINT
  };
  return rows;
}

const Known* find(const std::string& key) {
  for (const Known& row : table()) {
    const bool is_word = !key.empty() && key.find(' ') == std::string::npos;
    if (row.name == key || (is_word && (" " + row.aliases + " ").find(" " + key + " ") != std::string::npos)) return &row;
  }
  return nullptr;
}

std::string plain(const std::string& text) {  // lower case, no white space around
  const char* const kSpace = " \t\n\v\f\r";
  const std::size_t from = text.find_first_not_of(kSpace);
  if (from == std::string::npos) return "";
  std::string out = text.substr(from, text.find_last_not_of(kSpace) - from + 1);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

__extension__ using Wide = __int128;

// A number with a unit, in 128 bits.
std::optional<i64> read_number(const std::string& text, bool bytes) {
  const std::string word = plain(text);
  std::size_t at = !word.empty() && word[0] == '-' ? 1 : 0;
  const std::size_t digits = at;
  Wide value = 0;
  for (; at < word.size() && word[at] >= '0' && word[at] <= '9'; ++at) value = std::min<Wide>(value * 10 + (word[at] - '0'), Wide{1} << 80);
  if (at == digits) return std::nullopt;
  const std::string unit = plain(word.substr(at));
  static const std::map<std::string, int> kShifts = {{"", 0},    {"b", 0},    {"k", 10},  {"kb", 10}, {"kib", 10}, {"m", 20},  {"mb", 20},
                                                     {"mib", 20}, {"g", 30}, {"gb", 30}, {"gib", 30}, {"t", 40},  {"tb", 40}, {"tib", 40}};
  const auto shift = kShifts.find(unit);
  if (shift == kShifts.end() || (!bytes && !unit.empty())) return std::nullopt;
  if (digits == 1) value = -value;
  value *= Wide{1} << shift->second;
  if (value > INT64_MAX || value < INT64_MIN) return std::nullopt;
  return static_cast<i64>(value);
}

std::optional<int> read_switch(const std::string& text, bool third) {
  const std::string word = plain(text);
  for (const char* yes : {"enable", "enabled", "true", "yes", "on", "1"})
    if (word == yes) return 1;
  for (const char* no : {"disable", "disabled", "false", "no", "off", "0"})
    if (word == no) return 0;
  if (third && (word == "automatic" || word == "auto")) return 2;
  return std::nullopt;
}

using Fields = std::vector<std::string>;  // in the order of the table
std::string shown(i64 value) { return std::to_string(value); }
std::string shown(bool value) { return value ? "1" : "0"; }
std::string shown(Toggle value) { return value == Toggle::kEnable ? "1" : value == Toggle::kDisable ? "0" : "2"; }
std::string shown(const std::string& value) { return value; }
template <Choice T>
std::string shown(T value) {
  return word_of(value);
}

Fields fields_of(const Hints& hints) {
  return {
#define MERCUTIO_HINT(type, name, initial, alias, low, high, unit, when, agree, doc) shown(hints.name),
#include "model/hints.def"
#undef MERCUTIO_HINT
  };
}

std::size_t place_of(const std::string& name) {
  std::size_t place = 0;
  while (table()[place].name != name) ++place;
  return place;
}

void check_ranges(const Hints& hints) {
  const Fields fields = fields_of(hints);
  for (const Known& row : table()) {
    if (row.unit != "bytes" && row.unit != "count") continue;
    const i64 value = std::stoll(fields[place_of(row.name)]);
    FUZZ_CHECK(value >= row.low && value <= row.high, row.name + "=" + fields[place_of(row.name)]);
  }
  FUZZ_CHECK(hints.file_perm.size() <= 5 && hints.file_perm.find_first_not_of("01234567") == std::string::npos, hints.file_perm);
  FUZZ_CHECK(!hints.cb_config_list.empty(), "no cb_config_list");
}

// What the text of a number or a switch means, as fields_of() shows it; nothing: can't be used. Other rows: not known here.
std::optional<std::string> meaning(const Known& row, const std::string& value) {
  if (row.unit == "bytes" || row.unit == "count") {
    const auto number = read_number(value, row.unit == "bytes");
    return number && *number >= row.low && *number <= row.high ? std::optional(shown(*number)) : std::nullopt;
  }
  const auto choice = read_switch(value, row.unit == "toggle");
  return choice ? std::optional(shown(i64{*choice})) : std::nullopt;
}

void check_applied(const Known& row, const std::pair<std::string, std::string>& item, Fields before, const Fields& after) {
  const std::string text = item.first + "=" + item.second;
  const bool both = item.first == "collective_buffering";
  if (row.unit != "text") {
    auto expected = both ? meaning(Known{row.name, "", "bool", 0, 0, row.time, row.agree}, item.second) : meaning(row, item.second);
    FUZZ_CHECK(expected && after[place_of(row.name)] == *expected, text + " gave " + after[place_of(row.name)]);
  }
  before[place_of(row.name)] = after[place_of(row.name)];
  if (both) before[place_of("romio_cb_read")] = after[place_of("romio_cb_write")];
  FUZZ_CHECK(before == after, text + " changed another hint");
}

void check_refused(const Known* row, const std::pair<std::string, std::string>& item, HintTime time, const Fields& before) {
  if (row == nullptr || row->unit == "text" || item.first == "collective_buffering") return;
  const auto expected = meaning(*row, item.second);
  const bool settable = row->time == HintTime::kAnyTime || (row->time == HintTime::kOpen && time == HintTime::kOpen);
  FUZZ_CHECK(!expected || (!settable && *expected != before[place_of(row->name)]), item.first + "=" + item.second + " was refused");
}

void check_item(HintSet& set, const std::pair<std::string, std::string>& item, HintTime time) {
  const Fields before = fields_of(set.values);
  apply_hints(set, {item}, HintSource::kInfo, time);
  const Fields after = fields_of(set.values);
  const HintNote* note = nullptr;
  for (const HintNote& each : set.notes) {
    if (each.key != item.first) continue;
    FUZZ_CHECK(note == nullptr, "two notes about " + item.first);
    note = &each;
  }
  FUZZ_CHECK(note != nullptr && note->value == item.second && note->applied() == note->why_not.empty(), "the note about " + item.first);
  check_ranges(set.values);
  const Known* row = find(item.first);
  FUZZ_CHECK(hint_must_agree(item.first) == (row != nullptr && row->agree), item.first);
  if (note->applied()) {
    FUZZ_CHECK(row != nullptr, item.first + " is no hint");
    return check_applied(*row, item, before, after);
  }
  FUZZ_CHECK(before == after, item.first + "=" + item.second + " was refused and changed something");
  check_refused(row, item, time, before);
}

// What is in effect, handed back in order, is in effect again.
void check_round_trip(const Hints& hints) {
  const InfoItems items = effective_hints(hints);
  HintSet again;
  apply_hints(again, items, HintSource::kInfo, HintTime::kOpen);
  FUZZ_CHECK(fields_of(again.values) == fields_of(hints), "other hints after a round trip");
  std::set<std::string> keys;
  for (const auto& [key, value] : items) {
    FUZZ_CHECK(keys.insert(key).second, key + " twice");
    FUZZ_CHECK(!value.empty() && find(key) != nullptr, key + "=" + value);
  }
}

void check_strings(const std::string& text) {
  const InfoItems pairs = parse_hint_string(text);
  std::string joined;
  for (const auto& [key, value] : pairs) {
    FUZZ_CHECK(!key.empty() && key.find_first_of("=;") == std::string::npos && value.find(';') == std::string::npos, key + "=" + value);
    joined += key + "=" + value + ";";
  }
  FUZZ_CHECK(parse_hint_string(joined) == pairs, joined);
  const InfoItems lines = parse_romio_hints(text);
  std::set<std::string> keys;
  joined.clear();
  for (const auto& [key, value] : lines) {
    FUZZ_CHECK(!key.empty() && !value.empty() && key[0] != '#' && key.find_first_of(" \t\n") == std::string::npos, key + " " + value);
    FUZZ_CHECK(keys.insert(key).second, key + " twice");
    joined += key + " " + value + "\n";
  }
  FUZZ_CHECK(parse_romio_hints(joined) == lines, joined);
}

InfoItems split(const std::string& text) {
  InfoItems items;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    items.emplace_back(line.substr(0, equals), equals == std::string::npos ? "" : line.substr(equals + 1));
  }
  return items;
}

}  // namespace

Input example(Random& random) {
  static const char* const kValues[] = {"enable", "false",  "automatic", "16MiB", "4k",     "-1",    "0",          "1 GB",       "0644",
                                        "*:1",    "n1:2,*", "auto",      "cost",  "vulcan", "8388608", "two_phase", "read_once, random", "true"};
  std::string text(1, static_cast<char>(pick(random, 0, 255)));
  for (i64 i = pick(random, 1, 5); i > 0; --i) {
    const Known& row = table()[random() % table().size()];
    const std::string alias = row.aliases.substr(0, row.aliases.find(' '));
    text += (alias.empty() || pick(random, 0, 2) ? row.name : alias) + "=" + kValues[pick(random, 0, 17)] + (pick(random, 0, 3) ? "\n" : ";");
  }
  return input_of(text);
}

}  // namespace mercutio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mercutio;
  using namespace mercutio::fuzz;
  if (size == 0) return 0;
  const HintTime time = data[0] & 1 ? HintTime::kAnyTime : HintTime::kOpen;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  check_strings(text);
  HintSet set;
  for (const InfoItems& items : {split(text), parse_hint_string(text), parse_romio_hints(text)}) {
    for (const auto& item : items) check_item(set, item, time);
    const Hints once = set.values;
    apply_hints(set, items, HintSource::kInfo, HintTime::kOpen);
    const Hints opened = set.values;
    apply_hints(set, items, HintSource::kInfo, HintTime::kOpen);
    FUZZ_CHECK(set.values == opened, "the same hints again made a difference");
    set.values = once;
  }
  check_round_trip(set.values);
  return 0;
}
