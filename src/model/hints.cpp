// Hints: parsing, ranges, and what is told about them. Every hint asked for is looked up in the tables hints.def and
// foreign_hints.def; what can't be used becomes a note that says why. Cost: a linear walk of tables of some thirty rows,
// and of the notes so far, an item.
#include "model/hints.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include "base/edit_distance.h"
#include "base/split.h"
#include "base/trim.h"
#include "model/path_mapping.h"
#include "model/size_text.h"

namespace mercutio {
namespace {

// One row of the table, with its type erased: `set` returns "" or why the text can't be used.
struct Row {
  std::string_view name, aliases, unit, doc;
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

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string limit_text(const Row& row, i64 limit) {
  return row.unit == "bytes" ? size_text(limit) : std::to_string(limit);
}

std::string set_value(const Row& row, i64& target, const std::string& text) {
  const std::string word = lower_case(text);
  i64 number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc::result_out_of_range) return "the number is too large";
  if (error != std::errc()) return "not a number";
  const std::string_view unit = trimmed(std::string_view(word).substr(static_cast<size_t>(end - word.data())));
  const std::optional<i64> factor =
      row.unit == "bytes" ? unit_factor(unit) : (unit.empty() ? std::optional<i64>(1) : std::nullopt);
  if (!factor) return "unknown unit '" + std::string(unit) + "'";
  if (number > std::numeric_limits<i64>::max() / *factor || number < std::numeric_limits<i64>::min() / *factor)
    return "the number is too large";
  number *= *factor;
  if (number < row.low || number > row.high)
    return "must be from " + limit_text(row, row.low) + " to " + limit_text(row, row.high);
  target = number;
  return "";
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
  for (const std::string_view word : split(text, ',')) {
    if (!is_one_of(trimmed(word), {"read_once", "write_once", "read_mostly", "write_mostly", "sequential",
                                "reverse_sequential", "random"}))
      return "'" + std::string(trimmed(word)) + "' is no access style of the standard";
  }
  return "";
}

// host:n,*:m ; host alone means one; * as a number means any.
std::string check_config_list(const std::string& text) {
  for (const std::string_view entry : split(text, ',')) {
    const std::string_view word = trimmed(entry);
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

template <Choice T>
std::string set_value(const Row&, T& target, const std::string& text) {
  const auto named = choice_named<T>(text);
  if (named) {
    target = *named;
    return "";
  }
  std::string all;
  const auto words = words_of(T{});
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) all += i + 1 == words.size() ? " or " : ", ";
    all += words[i];
  }
  return "must be " + all;
}

// As Lustre has them.
std::string check_pool(const std::string& text) {
  constexpr size_t kMostCharacters = 15;
  const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.'; });
  return plain && text.size() <= kMostCharacters ? "" : "must be a name of at most 15 letters, digits, _, - and .";
}

std::string set_value(const Row& row, std::string& target, const std::string& text) {
  std::string why;
  if (row.name == "file_perm") why = check_permissions(text);
  if (row.name == "access_style") why = check_access_style(text);
  if (row.name == "cb_config_list") why = check_config_list(text);
  if (row.name == "mercutio_pool") why = check_pool(text);
  if (row.name == "mercutio_remote") why = check_path_mapping(text);
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
template <Choice T>
std::string text_of(const Row&, T value) {
  return word_of(value);
}

constexpr auto kOpen = HintTime::kOpen;
constexpr auto kAnyTime = HintTime::kAnyTime;
constexpr auto kOutput = HintTime::kOutput;

const Row kRows[] = {
#define MERCUTIO_HINT(type, name, initial, alias, low, high, unit, when, agree, doc)                          \
  Row{#name,                                                                                                  \
      alias,                                                                                                  \
      unit,                                                                                                   \
      doc,                                                                                                    \
      low,                                                                                                    \
      high,                                                                                                   \
      when,                                                                                                   \
      agree,                                                                                                  \
      [](const Row& row, Hints& hints, const std::string& text) { return set_value(row, hints.name, text); }, \
      [](const Row& row, const Hints& hints) { return text_of(row, hints.name); }},
#include "model/hints.def"
#undef MERCUTIO_HINT
};

constexpr ForeignHint kForeignHints[] = {
#define MERCUTIO_FOREIGN_HINT(name, ours, why) ForeignHint{name, ours, why},
#include "model/foreign_hints.def"
#undef MERCUTIO_FOREIGN_HINT
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

// OMPIO's one switch stands for both directions, and knows no "automatic".
std::string set_collective_buffering(Hints& hints, const Row& row, const std::string& text) {
  bool wanted = true;
  if (std::string why = set_value(row, wanted, text); !why.empty()) return why;
  hints.romio_cb_read = hints.romio_cb_write = wanted ? Toggle::kEnable : Toggle::kDisable;
  return "";
}

struct Outcome {
  HintStatus status = HintStatus::kApplied;
  std::string why_not;
};

Outcome outcome_unknown(std::string_view key) {
  if (const ForeignHint* known = find_foreign_hint(key)) {
    if (known->ours.empty()) return {HintStatus::kForeign, "has no effect here: " + std::string(known->why)};
    return {HintStatus::kForeign, "is an environment variable; the hint is called " + std::string(known->ours)};
  }
  const std::string meant = closest_hint(key);
  return {HintStatus::kUnknown, "unknown key" + (meant.empty() ? "" : "; did you mean " + meant + "?")};
}

bool touches_any(const HintNote& note, const std::vector<std::string>& names) {
  const std::vector<std::string> touched = hint_names(note.key);
  return std::any_of(touched.begin(), touched.end(),
                     [&](const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); });
}

// The site's last word about what `key` sets.
const HintNote* forced_note(const HintSet& set, std::string_view key) {
  const std::vector<std::string> names = hint_names(key);
  for (const HintNote& note : set.notes)
    if (note.origin.forced && note.applied() && touches_any(note, names)) return &note;
  return nullptr;
}

Outcome apply_one(HintSet& set, const AskedHint& asked, HintTime time) {
  const Row* row = find_row(asked.key);
  if (row == nullptr) return outcome_unknown(asked.key);
  if (!asked.origin.forced) {
    if (const HintNote* forced = forced_note(set, asked.key))
      return {HintStatus::kForced, "the site keeps it at " + forced->value + " for everybody: " + forced->origin.where};
  }
  const std::string text(trimmed(asked.value));
  Hints wanted = set.values;
  std::string why =
      asked.key == "collective_buffering" ? set_collective_buffering(wanted, *row, text) : row->set(*row, wanted, text);
  const bool too_late = row->time == kOpen && time != kOpen;
  if ((row->time == kOutput || too_late) && (!why.empty() || wanted != set.values))
    return {HintStatus::kNotNow, too_late ? "can be set only when the file is opened" : "only reports, can't be set"};
  if (!why.empty()) return {HintStatus::kBadValue, std::move(why)};
  set.values = std::move(wanted);
  return {};
}

// What said something else about all that `latest` sets, before.
void overrule_earlier(HintSet& set, const HintNote& latest) {
  const std::vector<std::string> names = hint_names(latest.key);
  for (HintNote& note : set.notes) {
    if (!note.applied() && note.status != HintStatus::kIneffective) continue;
    const std::vector<std::string> old = hint_names(note.key);
    const bool covered = std::all_of(old.begin(), old.end(), [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    });
    if (!covered) continue;
    note.status = HintStatus::kOverruled;
    note.why_not = origin_text(latest.origin) + " says " + latest.value;
  }
}

bool left_to_system(const Row& row, const std::string& text) {
  return text.empty() || (row.unit == "count" && text == "-1") ||
         (is_one_of(row.name, {"cb_nodes", "striping_unit", "striping_factor"}) && text == "0");
}

std::string value_in(const InfoItems& items, std::string_view key) {
  for (const auto& item : items)
    if (item.first == key) return item.second;
  return "";
}

// Why what was applied isn't what is in effect; "" when it is.
std::string why_ineffective(const HintSet& set, const Row& row, const InfoItems& in_effect, bool creates) {
  const std::string asked = row.get(row, set.values), now = value_in(in_effect, row.name);
  const bool differs = !left_to_system(row, asked) && asked != now;
  if (row.name == "cb_nodes" && differs)
    return now + " aggregate: no more than there are ranks, cb_config_list allows and share the servers evenly";
  if (is_one_of(row.name, {"striping_unit", "striping_factor", "start_iodevice", "mercutio_pool", "mercutio_overstriping"}) && differs)
    return now.empty() ? "the file system takes no such setting" : "the file has " + now + "; stripes are fixed when a file is created";
  if (row.name == "mercutio_async_backend" && differs) return "not available here: " + now + " do the same work";
  if (row.name == "mercutio_coherence" && differs)
    return now == "none" ? "the file system is coherent by itself, or can't do it" : "not possible on this file system: " + now + " does it";
  if (row.name == "mpi_assert_memory_alloc_kinds" && differs) return "the MPI doesn't say that it has all of these kinds";
  if (row.name == "file_perm" && !creates) return "the file was there: only a file that open creates gets permissions";
  if (row.name == "romio_lustre_co_ratio" && asked != "1" && value_in(in_effect, "striping_factor").empty())
    return "the file isn't striped over servers";
  const bool each_moves_its_own = set.values.romio_cb_read == Toggle::kDisable || set.values.romio_cb_write == Toggle::kDisable;
  if (row.name == "romio_no_indep_rw" && asked == "true" && each_moves_its_own) return "kept and returned; without collective buffering each rank needs the file";
  if (row.name == "access_style" && !asked.empty()) return "kept and returned; accesses are looked at as they come";
  return "";
}

}  // namespace

const char* hint_source_name(HintSource source) {
  switch (source) {
    case HintSource::kDefault: return "default";
    case HintSource::kMeasured: return "measured";
    case HintSource::kSiteFile: return "site file";
    case HintSource::kTuner: return "tuner";
    case HintSource::kUserFile: return "user file";
    case HintSource::kJobFile: return "job file";
    case HintSource::kEnvironment: return "environment";
    case HintSource::kInfo: return "MPI_Info";
  }
  return "";
}

std::string origin_text(const HintOrigin& origin) {
  std::string text = hint_source_name(origin.source);
  if (origin.source == HintSource::kEnvironment && !origin.where.empty()) text = origin.where;
  else if (!origin.where.empty()) text += " " + origin.where;
  return text + (origin.forced ? ", forced" : "");
}

std::vector<HintFacts> all_hints() {
  std::vector<HintFacts> out;
  for (const Row& row : kRows)
    out.push_back({row.name, row.aliases, row.unit, row.doc, row.low, row.high, row.time, row.agree, row.get(row, Hints{})});
  return out;
}

std::span<const ForeignHint> foreign_hints() {
  return kForeignHints;
}

const ForeignHint* find_foreign_hint(std::string_view key) {
  for (const ForeignHint& known : kForeignHints) {
    const bool prefix = known.name.ends_with('*');
    if (prefix ? key.starts_with(known.name.substr(0, known.name.size() - 1)) : key == known.name) return &known;
  }
  return nullptr;
}

std::vector<std::string> hint_names(std::string_view key) {
  const Row* row = find_row(key);
  if (row == nullptr) return {};
  if (key == "collective_buffering") return {"romio_cb_write", "romio_cb_read"};
  return {std::string(row->name)};
}

std::string closest_hint(std::string_view key) {
  constexpr size_t kLongest = 64;
  if (key.size() < 4 || key.size() > kLongest) return "";
  const std::string word = lower_case(key);
  std::string best;
  i64 least = believable_mistakes(key) + 1;
  const auto consider = [&](std::string_view name) {
    const i64 distance = name.empty() ? least : edit_distance(word, name);
    if (distance >= least) return;
    least = distance;
    best = name;
  };
  for (const Row& row : kRows) {
    consider(row.name);
    for (const std::string_view alias : split(row.aliases, ' ')) consider(alias);
  }
  return best;
}

void add_note(HintSet& set, HintNote note) {
  std::erase_if(set.notes, [&](const HintNote& old) { return old.key == note.key && old.origin == note.origin; });
  set.notes.push_back(std::move(note));
}

void apply_hints(HintSet& set, const std::vector<AskedHint>& asked, HintTime time) {
  for (const AskedHint& hint : asked) {
    Outcome outcome = apply_one(set, hint, time);
    HintNote note{hint.key, hint.value, hint.origin, outcome.status, std::move(outcome.why_not)};
    if (note.applied()) overrule_earlier(set, note);
    add_note(set, std::move(note));
  }
}

void apply_hints(HintSet& set, const InfoItems& items, HintSource source, HintTime time) {
  std::vector<AskedHint> asked;
  for (auto& [key, value] : own_names_last(items)) asked.push_back({std::move(key), std::move(value), HintOrigin{source, "", false, false}});
  apply_hints(set, asked, time);
}

InfoItems own_names_last(InfoItems items) {
  std::stable_partition(items.begin(), items.end(), [](const auto& item) {
    const Row* const row = find_row(item.first);
    return row == nullptr || row->name != item.first;
  });
  return items;
}

void note_ineffective(HintSet& set, const InfoItems& in_effect, bool creates) {
  for (HintNote& note : set.notes) {
    const Row* row = find_row(note.key);
    if (row == nullptr || !note.applied()) continue;
    note.why_not = why_ineffective(set, *row, in_effect, creates);
    if (!note.why_not.empty()) note.status = HintStatus::kIneffective;
  }
}

bool hint_must_agree(const std::string& key) {
  const Row* row = find_row(key);
  return row != nullptr && row->agree;
}

InfoItems parse_hint_string(const std::string& text) {
  InfoItems items;
  for (const std::string_view part : split(text, ';')) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = trimmed(part.substr(0, equals));
    if (!key.empty()) items.emplace_back(std::string(key), std::string(trimmed(part.substr(equals + 1))));
  }
  return items;
}

InfoItems effective_hints(const Hints& hints) {
  InfoItems items;
  // Other names first: who hands the list back, in order, gets what the canonical names say.
  items.emplace_back(kOtherNames[0], hints.romio_cb_write == Toggle::kDisable ? "false" : "true");
  if (hints.striping_unit > 0) items.emplace_back(kOtherNames[1], std::to_string(hints.striping_unit));
  if (hints.striping_factor > 0) items.emplace_back(kOtherNames[2], std::to_string(hints.striping_factor));
  for (const Row& row : kRows) {
    std::string text = row.get(row, hints);
    if (left_to_system(row, text)) continue;
    if (row.name == "romio_synchronized_flush") text = hints.romio_synchronized_flush ? "enabled" : "disabled";
    items.emplace_back(std::string(row.name), std::move(text));
  }
  return items;
}

}  // namespace mercutio
