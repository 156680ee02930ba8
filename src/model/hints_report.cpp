#include "model/hints_report.h"

#include <algorithm>
#include <array>

#include "model/hints_environment.h"
#include "model/size_text.h"

namespace mercutio {
namespace {

constexpr size_t kLongestValue = 60;
constexpr size_t kMostWarnings = 200;   // of a process; a program that makes keys up must not fill memory

// Of what a user wrote: one line, and no control characters for a terminal to act on.
std::string on_one_line(const std::string& text) {
  std::string out = text.substr(0, kLongestValue);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = '?';
  return text.size() > kLongestValue ? out + "..." : out;
}

bool sets(const HintNote& note, const std::string& name) {
  const std::vector<std::string> names = hint_names(note.key);
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string value_of(const InfoItems& items, const std::string& key) {
  for (const auto& item : items)
    if (item.first == key) return item.second;
  return "";
}

std::string remark_on(const HintNote& note) {
  const std::string asked = origin_text(note.origin) + " asked " + on_one_line(note.value);
  return note.status == HintStatus::kOverruled ? asked : asked + ": " + note.why_not;
}

HintRow row_of(const HintFacts& facts, const HintSet& set, const std::string& now) {
  const std::string name(facts.name), asked = value_of(effective_hints(set.values), name);
  HintRow row{name, now, "default", ""};
  if (facts.unit == "bytes") {
    const std::optional<i64> bytes = parse_size(now);
    if (bytes) row.value = size_text(*bytes);
  }
  for (const HintNote& note : set.notes) {
    if (!sets(note, name)) continue;
    const bool kept = note.applied() || note.status == HintStatus::kIneffective;
    if (kept && asked == now) row.from = origin_text(note.origin);
    if (!note.applied()) row.remark += (row.remark.empty() ? "" : "; ") + remark_on(note);
  }
  // Asked for and kept, but without an effect: where it came from stands in the remark.
  if (asked != now) row.from = "this file";
  row.value = on_one_line(row.value);
  return row;
}

bool own_mistake(const HintNote& note) {
  return note.status != HintStatus::kApplied && note.status != HintStatus::kOverruled;
}

// Whether a key of somebody else's list is likely to be meant for us.
bool looks_like_ours(const HintNote& note) {
  switch (note.status) {
    case HintStatus::kUnknown: return note.key.starts_with("mercutio_") || !closest_hint(note.key).empty();
    case HintStatus::kForeign: return false;
    default: return own_mistake(note);
  }
}

}  // namespace

std::vector<HintRow> hint_rows(const HintSet& set, const InfoItems& in_effect) {
  std::vector<HintRow> rows;
  for (const HintFacts& facts : all_hints()) {
    const std::string now = value_of(in_effect, std::string(facts.name));
    const bool wished = std::any_of(set.notes.begin(), set.notes.end(), [&](const HintNote& note) { return sets(note, std::string(facts.name)); });
    if (now.empty() && !wished) continue;
    rows.push_back(row_of(facts, set, now));
    if (now.empty()) rows.back().value = "-", rows.back().from = "the system's";
  }
  for (const HintNote& note : set.notes) {
    if (hint_names(note.key).empty()) rows.push_back({on_one_line(note.key), "-", "unused", remark_on(note)});
  }
  return rows;
}

std::string hint_table(const std::vector<HintRow>& rows) {
  std::array<size_t, 3> widths{};
  for (const HintRow& row : rows) {
    widths = {std::max(widths[0], row.key.size()), std::max(widths[1], row.value.size()), std::max(widths[2], row.from.size())};
  }
  std::string out;
  for (const HintRow& row : rows) {
    std::string line;
    const std::array<const std::string*, 3> cells{&row.key, &row.value, &row.from};
    for (size_t i = 0; i < cells.size(); ++i) line += *cells[i] + std::string(widths[i] - cells[i]->size() + 2, ' ');
    line += row.remark;
    out += "  " + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string note_text(const HintNote& note) {
  return on_one_line(note.key) + "=" + on_one_line(note.value) + " (" + origin_text(note.origin) + "): " + note.why_not;
}

bool HintReporter::shows_tables() const {
  return is_switched_on(environment("MERCUTIO_PRINT_HINTS")) || is_switched_on(environment("ROMIO_PRINT_HINTS")) ||
         is_switched_on(environment("MPICH_MPIIO_HINTS_DISPLAY"));
}

void HintReporter::show(const std::string& title, const HintSet& set, const InfoItems& in_effect) {
  say_("mercutio: " + title + "\n" + hint_table(hint_rows(set, in_effect)));
}

void HintReporter::warn(const HintSet& set) {
  const bool info_too = is_switched_on(environment("MERCUTIO_WARN")) || shows_tables();
  for (const HintNote& note : set.notes) {
    const bool info = note.origin.source == HintSource::kInfo;
    if (info && !info_too) continue;
    if (note.origin.ours ? own_mistake(note) : looks_like_ours(note))
      once(note.key + "\n" + note.origin.where, "hint " + note_text(note));
  }
}

void HintReporter::warn(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) once(problem, problem);
}

void HintReporter::once(const std::string& subject, const std::string& text) {
  if (environment("MERCUTIO_WARN") == "0") return;
  bool first = false;
  {
    std::lock_guard lock(mutex_);
    if (reported_.size() >= kMostWarnings || !reported_.insert(subject).second) return;
    first = reported_.size() == 1;
  }
  say_("mercutio: warning: " + text + (first ? " (each warning comes once; MERCUTIO_WARN=0: none)" : "") + "\n");
}

}  // namespace mercutio
