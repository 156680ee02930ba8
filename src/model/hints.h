// Hints: one table (hints.def) makes the struct, the parser, get_info and the documentation. A HintSet keeps, beside the
// values, what was asked for, by whom, and what became of it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "model/choices.h"

namespace mercutio {

using InfoItems = std::vector<std::pair<std::string, std::string>>;   // key, value; in order

// Where a value came from, weakest first.
enum class HintSource { kDefault, kMeasured, kSiteFile, kTuner, kUserFile, kJobFile, kEnvironment, kInfo };
const char* hint_source_name(HintSource source);   // "user file"

struct HintOrigin {
  HintSource source = HintSource::kInfo;
  std::string where;     // "/etc/mercutio/hints.toml:12", "MERCUTIO_HINTS"; empty where the source says it all
  bool ours = false;     // a place for Mercutio's hints alone: an unknown key there is a mistake
  bool forced = false;   // the site's last word
  bool operator==(const HintOrigin&) const = default;
};

// "user file /home/u/.config/mercutio/hints.toml:3", "MERCUTIO_HINTS", "MPI_Info".
std::string origin_text(const HintOrigin& origin);

struct AskedHint {
  std::string key, value;
  HintOrigin origin;
  bool operator==(const AskedHint&) const = default;
};

struct Hints {
#define MERCUTIO_HINT(type, name, initial, alias, low, high, unit, when, agree, doc) type name = initial;
#include "model/hints.def"
#undef MERCUTIO_HINT
  bool operator==(const Hints&) const = default;
};

// What each has where nobody asks for anything.
namespace default_hints {
#define MERCUTIO_HINT(type, name, initial, ...) inline constexpr auto name = initial;
#include "model/hints.def"
#undef MERCUTIO_HINT
}  // namespace default_hints

enum class HintFate {
  kApplied,
  kOverruled,     // was applied; a stronger source gave another value
  kIneffective,   // taken, but something else is in effect for this file, or nothing follows from it
  kBadValue,
  kNotNow,        // can be set only at open, or never
  kForced,        // the site doesn't let it be changed
  kElsewhere,     // means something to another MPI-IO or layer, and nothing here
  kUnknown,
};

// One line about a hint that was asked for and what became of it.
struct HintNote {
  std::string key, value;
  HintOrigin origin;
  HintFate fate = HintFate::kApplied;
  std::string why_not;   // empty when applied
  bool applied() const { return fate == HintFate::kApplied; }
};

struct HintSet {
  Hints values;
  std::vector<HintNote> notes;   // one a key and origin, latest last
};

// kOpen: only when the file is opened; kAnyTime: also later; kOutput: reported, never set.
enum class HintTime { kOpen, kAnyTime, kOutput };

// A row of the table as data.
struct HintFacts {
  std::string_view name, aliases, unit, doc;   // unit: "bytes", "count", "toggle", "bool", "text"
  i64 low = 0, high = 0;
  HintTime time = HintTime::kAnyTime;
  bool agree = true;      // rank 0's value counts on all ranks; else each rank has its own
  std::string initial;    // the default
};
std::vector<HintFacts> all_hints();
// What a key of another MPI-IO, or of a layer above, means: why it has no effect here, or the hint of ours that it sets.
struct HintElsewhere {
  std::string_view name, ours, why;   // a name that ends with * stands for all that begin so
};
std::span<const HintElsewhere> hints_elsewhere();
const HintElsewhere* find_elsewhere(std::string_view key);   // null: not known

// The canonical names of the hints that a key sets, by any of its names; none: it sets nothing.
std::vector<std::string> hint_names(std::string_view key);
// What somebody who wrote `key` may have meant; "" when nothing is close.
std::string closest_hint(std::string_view key);

// `time`: kOpen while the file is being opened, kAnyTime later.
// Applies what is asked for in order, each over the one before; sizes take units ("16MiB", "4k"); never fails: what can't be
// applied becomes a note.
void apply_hints(HintSet& set, const std::vector<AskedHint>& asked, HintTime time);
void apply_hints(HintSet& set, const InfoItems& items, HintSource source, HintTime time);
// In the place of an earlier note of the same key and origin: a program that calls set_info in a loop must not grow the list.
void add_note(HintSet& set, HintNote note);
// Marks what was applied and is not what `in_effect` (as of effective_hints) says; `creates`: open may have made the file.
void note_ineffective(HintSet& set, const InfoItems& in_effect, bool creates);
// What applies on all ranks alike (rank 0's value), and what is each rank's own.
bool hint_must_agree(const std::string& key);
InfoItems parse_hint_string(const std::string& text);        // "k=v;k=v"
// Every hint in effect as key/value text, canonical names and the aliases programs look for; unknown keys the user gave
// are not returned, neither are values left to the system.
InfoItems effective_hints(const Hints& hints);

}  // namespace mercutio
