// Hints: parsing, ranges, and what is told about them. Every item of an info object is looked up in the table
// hints.def; what can't be used becomes a note that says why. Cost: a linear walk of a table of some twenty rows an
// item.
#include "model/hints.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

#include "model/size_text.h"

namespace mercutio {
namespace {

// One row of the table, with its type erased: `set` returns "" or why the text can't be used.
struct Row {
  std::string_view name, aliases, unit;
  i64 low, high;
  HintTime time;
  bool agree;
  std::string (*set)(const Row& row, Hints& hints, const std::string& text);
  std::string (*get)(const Row& row, const Hints& hints);
};

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string set_number(const Row& row, i64& target, const std::string& text) {
  const std::string word = lower_case(text);
  i64 number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc::result_out_of_range) return "the number is too large";
  if (error != std::errc()) return "not a number";
  const std::string_view unit = trim(std::string_view(word).substr(static_cast<size_t>(end - word.data())));
  const std::optional<i64> factor =
      row.unit == "bytes" ? unit_factor(unit) : (unit.empty() ? std::optional<i64>(1) : std::nullopt);
  if (!factor) return "unknown unit '" + std::string(unit) + "'";
  if (number > std::numeric_limits<i64>::max() / *factor || number < std::numeric_limits<i64>::min() / *factor)
    return "the number is too large";
  number *= *factor;
  if (number < row.low || number > row.high)
    return "must be from " + std::to_string(row.low) + " to " + std::to_string(row.high);
  target = number;
  return "";
}

std::string set_value(const Row& row, i64& target, const std::string& text) {
  return set_number(row, target, text);
}

std::string set_value(const Row&, Toggle& target, const std::string& text) {
  const std::string word = lower_case(text);
  if (is_one_of(word, {"enable", "enabled", "true", "yes", "on", "1"})) {
    target = Toggle::kEnable;
  } else if (is_one_of(word, {"disable", "disabled", "false", "no", "off", "0"})) {
    target = Toggle::kDisable;
  } else if (is_one_of(word, {"automatic", "auto"})) {
    target = Toggle::kAutomatic;
  } else {
    return "must be enable, disable or automatic";
  }
  return "";
}

std::string set_value(const Row&, bool& target, const std::string& text) {
  const std::string word = lower_case(text);
  if (is_one_of(word, {"true", "enable", "enabled", "yes", "on", "1"})) {
    target = true;
  } else if (is_one_of(word, {"false", "disable", "disabled", "no", "off", "0"})) {
    target = false;
  } else {
    return "must be true or false";
  }
  return "";
}

std::string check_permissions(const std::string& text) {
  const bool octal = !text.empty() && text.size() <= 5 && text.find_first_not_of("01234567") == std::string::npos;
  return octal ? "" : "must be octal digits such as 0644";
}

std::string check_access_style(const std::string& text) {
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    if (!is_one_of(trim(word), {"read_once", "write_once", "read_mostly", "write_mostly", "sequential",
                                "reverse_sequential", "random"}))
      return "'" + std::string(trim(word)) + "' is no access style of the standard";
  }
  return "";
}

// host:n,*:m ; host alone means one; * as a number means any.
std::string check_config_list(const std::string& text) {
  std::istringstream entries(text);
  for (std::string entry; std::getline(entries, entry, ',');) {
    const std::string_view word = trim(entry);
    const size_t colon = word.rfind(':');
    if (word.empty() || colon == 0) return "a host name is missing";
    if (colon == std::string_view::npos) continue;
    const std::string_view number = word.substr(colon + 1);
    if (number != "*" &&
        (number.empty() || number.size() > 9 || number.find_first_not_of("0123456789") != std::string_view::npos))
      return "'" + std::string(number) + "' is no number of aggregators";
  }
  return text.empty() ? "must not be empty" : "";
}

struct Choice {
  std::string_view name;
  std::vector<std::string_view> words;
};

std::string check_choice(std::string_view name, const std::string& text) {
  const Choice choices[] = {
      {"mercutio_async_backend", {"auto", "threads", "io_uring"}},
      {"mercutio_strategy",
       {"auto", "individual", "list", "sieve", "two_phase", "dynamic", "static", "transpose", "vulcan", "dynamic_gen2"}},
      {"mercutio_domains", {"auto", "even", "aligned", "stripe_cyclic", "group_cyclic"}},
      {"mercutio_placement", {"auto", "rank_order", "round_robin", "stripe_aware", "cost"}},
      {"mercutio_exchange", {"auto", "messages", "shared_memory", "two_layer"}},
      {"mercutio_order", {"auto", "normal", "ring", "nd_shift", "nd_rank_shift"}},
  };
  for (const Choice& choice : choices) {
    if (choice.name != name) continue;
    std::string all;
    for (size_t i = 0; i < choice.words.size(); ++i) {
      if (choice.words[i] == text) return "";
      if (i > 0) all += i + 1 == choice.words.size() ? " or " : ", ";
      all += choice.words[i];
    }
    return "must be " + all;
  }
  return "";
}

std::string set_value(const Row& row, std::string& target, const std::string& text) {
  std::string why;
  if (row.name == "file_perm") why = check_permissions(text);
  if (row.name == "access_style") why = check_access_style(text);
  if (row.name == "cb_config_list") why = check_config_list(text);
  if (row.name.substr(0, 9) == "mercutio_") why = check_choice(row.name, text);
  if (why.empty()) target = text;
  return why;
}

std::string text_of(const Row&, i64 value) {
  return std::to_string(value);
}
std::string text_of(const Row&, bool value) {
  return value ? "true" : "false";
}
std::string text_of(const Row&, const std::string& value) {
  return value;
}
std::string text_of(const Row&, Toggle value) {
  return value == Toggle::kEnable ? "enable" : value == Toggle::kDisable ? "disable" : "automatic";
}

constexpr auto kOpen = HintTime::kOpen;
constexpr auto kAnyTime = HintTime::kAnyTime;
constexpr auto kOutput = HintTime::kOutput;

const Row kRows[] = {
#define MERCUTIO_HINT(type, name, initial, alias, low, high, unit, when, agree, doc)                          \
  Row{#name,                                                                                                  \
      alias,                                                                                                  \
      unit,                                                                                                   \
      low,                                                                                                    \
      high,                                                                                                   \
      when,                                                                                                   \
      agree,                                                                                                  \
      [](const Row& row, Hints& hints, const std::string& text) { return set_value(row, hints.name, text); }, \
      [](const Row& row, const Hints& hints) { return text_of(row, hints.name); }},
#include "model/hints.def"
#undef MERCUTIO_HINT
};

// Names in use elsewhere that have no meaning here, and why: so that a note can say more than "unknown".
struct KnownElsewhere {
  std::string_view prefix, why;
};
constexpr std::array kKnownElsewhere = {
    KnownElsewhere{"romio_cb_pfr", "file domains are planned for each access"},
    KnownElsewhere{"romio_cb_fr_", "file domains are planned for each access"},
    KnownElsewhere{"romio_cb_ds_threshold", "sieving is decided for each access"},
    KnownElsewhere{"romio_cb_alltoall", "the exchange is planned for each access"},
    KnownElsewhere{"romio_lustre_", "there is no Lustre driver with settings of its own"},
    KnownElsewhere{"romio_pvfs2_", "there is no PVFS2 driver"},
    KnownElsewhere{"romio_daos_", "there is no DAOS driver"},
    KnownElsewhere{"panfs_", "there is no PanFS driver"},
    KnownElsewhere{"direct_", "direct I/O isn't used"},
    KnownElsewhere{"OMPIO_SHAREDFP_", "the shared file pointer needs no file and keeps its order"},
    KnownElsewhere{"cb_block_size", "file domains are planned for each access"},
    KnownElsewhere{"chunked", "the file is stored as it is"},
    KnownElsewhere{"filename", "the name is that of the open call"},
    KnownElsewhere{"io_node_list", "the file system chooses its servers"},
    KnownElsewhere{"nb_proc", "the number of processes is known"},
    KnownElsewhere{"num_io_nodes", "the file system chooses its servers"},
};

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const size_t space = words.find(' ');
    if (words.substr(0, space) == word) return true;
    words = space == std::string_view::npos ? std::string_view() : words.substr(space + 1);
  }
  return false;
}

const Row* find_row(std::string_view key) {
  for (const Row& row : kRows)
    if (row.name == key || has_word(row.aliases, key)) return &row;
  return nullptr;
}

std::string why_unknown(std::string_view key) {
  for (const KnownElsewhere& known : kKnownElsewhere)
    if (key.substr(0, known.prefix.size()) == known.prefix) return "has no effect here: " + std::string(known.why);
  return "unknown key";
}

// OMPIO's one switch stands for both directions, and knows no "automatic".
std::string set_collective_buffering(Hints& hints, const Row& row, const std::string& text) {
  bool wanted = true;
  if (std::string why = set_value(row, wanted, text); !why.empty()) return why;
  hints.romio_cb_read = hints.romio_cb_write = wanted ? Toggle::kEnable : Toggle::kDisable;
  return "";
}

std::string apply_one(Hints& hints, const std::string& key, const std::string& value, HintTime time) {
  const Row* row = find_row(key);
  if (row == nullptr) return why_unknown(key);
  const std::string text(trim(value));
  if (row->time == kOutput) {
    Hints wanted = hints;
    const bool same = row->set(*row, wanted, text).empty() && wanted == hints;
    return same ? "" : "only reports, can't be set";
  }
  if (row->time == kOpen && time != kOpen) {
    Hints wanted = hints;
    const bool same = row->set(*row, wanted, text).empty() && wanted == hints;
    return same ? "" : "can be set only when the file is opened";
  }
  if (key == "collective_buffering") return set_collective_buffering(hints, *row, text);
  return row->set(*row, hints, text);
}

// The one place where the library asks the environment about hints.
std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string read_small_file(const std::string& path) {
  std::ifstream in(path);
  std::string text;
  constexpr size_t kLargest = 64 * 1024;
  for (std::string line; text.size() < kLargest && std::getline(in, line);) text += line + '\n';
  return text;
}

}  // namespace

void apply_hints(HintSet& set, const InfoItems& items, HintSource source, HintTime time) {
  for (const auto& [key, value] : items) {
    std::string why_not = apply_one(set.values, key, value, time);
    const bool applied = why_not.empty();
    const HintNote note{key, value, source, applied, std::move(why_not)};
    const auto same = [&](const HintNote& old) { return old.key == note.key && old.source == note.source; };
    // One note a key and source: a program that calls set_info in a loop must not grow the list.
    if (const auto old = std::find_if(set.notes.begin(), set.notes.end(), same); old != set.notes.end())
      *old = note;
    else
      set.notes.push_back(note);
  }
}

bool hint_must_agree(const std::string& key) {
  const Row* row = find_row(key);
  return row != nullptr && row->agree;
}

InfoItems hints_from_environment() {
  const std::string user_file = environment("ROMIO_HINTS");
  InfoItems items = parse_romio_hints(read_small_file(user_file.empty() ? "/etc/romio-hints" : user_file));
  for (auto& item : parse_hint_string(environment("MERCUTIO_HINTS"))) items.push_back(std::move(item));
  return items;
}

InfoItems parse_romio_hints(const std::string& text) {
  InfoItems items;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string_view word = trim(line);
    if (word.empty() || word.front() == '#') continue;
    const size_t space = word.find_first_of(" \t");
    if (space == std::string_view::npos) continue;
    const std::string_view key = word.substr(0, space);
    // ROMIO takes a key's first line and ignores the later ones.
    const auto repeated = [key](const auto& item) { return item.first == key; };
    if (std::any_of(items.begin(), items.end(), repeated)) continue;
    items.emplace_back(std::string(key), std::string(trim(word.substr(space))));
  }
  return items;
}

InfoItems parse_hint_string(const std::string& text) {
  InfoItems items;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ';');) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos) continue;
    const std::string_view view = part;
    const std::string_view key = trim(view.substr(0, equals));
    if (!key.empty()) items.emplace_back(std::string(key), std::string(trim(view.substr(equals + 1))));
  }
  return items;
}

InfoItems effective_hints(const Hints& hints) {
  InfoItems items;
  // Other names first: who hands the list back, in order, gets what the canonical names say.
  items.emplace_back("collective_buffering", hints.romio_cb_write == Toggle::kDisable ? "false" : "true");
  if (hints.striping_unit > 0) items.emplace_back("stripe_size", std::to_string(hints.striping_unit));
  if (hints.striping_factor > 0) items.emplace_back("stripe_width", std::to_string(hints.striping_factor));
  for (const Row& row : kRows) {
    std::string text = row.get(row, hints);
    const bool left_to_system = text.empty() || (row.unit == "count" && text == "-1") ||
                                (is_one_of(row.name, {"cb_nodes", "striping_unit", "striping_factor"}) && text == "0");
    if (left_to_system) continue;
    if (row.name == "romio_synchronized_flush") text = hints.romio_synchronized_flush ? "enabled" : "disabled";
    items.emplace_back(std::string(row.name), std::move(text));
  }
  return items;
}

}  // namespace mercutio
