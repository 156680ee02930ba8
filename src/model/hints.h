// Hints: the struct, the parser, MPI_File_get_info and the documentation are all generated from one table (hints.def). Besides
// the values, a HintSet stores which hints were requested, where, and whether they took effect.
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

// Where a value comes from, weakest source first.
enum class HintSource { kDefault, kMeasured, kSiteFile, kTuner, kUserFile, kJobFile, kEnvironment, kInfo };
const char* hint_source_name(HintSource source);   // "user file"

struct HintOrigin {
  HintSource source = HintSource::kInfo;
  std::string where;     // "/etc/mercutio/hints.toml:12", "MERCUTIO_HINTS"; empty if the source is enough
  bool ours = false;     // a place for Mercutio's hints only: an unknown key there is a mistake
  bool forced = false;   // by the site: nobody can change it
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
  Toggle buffering(Direction direction) const { return direction == Direction::kRead ? romio_cb_read : romio_cb_write; }
  bool operator==(const Hints&) const = default;
};

// The defaults.
namespace default_hints {
#define MERCUTIO_HINT(type, name, initial, ...) inline constexpr auto name = initial;
#include "model/hints.def"
#undef MERCUTIO_HINT
}  // namespace default_hints

enum class HintStatus {
  kApplied,
  kOverruled,     // was applied; a stronger source gave another value
  kIneffective,   // accepted, but another value is in effect for this file, or the hint changes nothing here
  kBadValue,
  kNotNow,        // can be set only at open, or never
  kForced,        // the site forbids changes
  kForeign,       // a hint of another MPI-IO or layer without a meaning here
  kUnknown,
};

// A requested hint and whether it took effect.
struct HintNote {
  std::string key, value;
  HintOrigin origin;
  HintStatus status = HintStatus::kApplied;
  std::string why_not;   // empty when applied
  bool applied() const { return status == HintStatus::kApplied; }
};

struct HintSet {
  Hints values;
  std::vector<HintNote> notes;   // one per key and origin, latest last
};

// kOpen: only when the file is opened; kAnyTime: also later; kOutput: reported, never set.
enum class HintTime { kOpen, kAnyTime, kOutput };

// A row of the table as data.
struct HintFacts {
  std::string_view name, aliases, unit, doc;   // unit: "bytes", "count", "toggle", "bool", "text"
  i64 low = 0, high = 0;
  HintTime time = HintTime::kAnyTime;
  bool agree = true;      // all ranks use rank 0's value; otherwise each rank has its own
  std::string initial;    // the default
};
std::vector<HintFacts> all_hints();
// A key of another MPI-IO or of a layer above: why it has no effect here, or which of our hints it sets.
struct ForeignHint {
  std::string_view name, ours, why;   // a final * in the name matches any rest
};
std::span<const ForeignHint> foreign_hints();
const ForeignHint* find_foreign_hint(std::string_view key);   // null: unknown

// The canonical names of the hints that a key (a name or an alias) sets; empty if it sets none.
std::vector<std::string> hint_names(std::string_view key);
// The known hint whose name is closest to `key`, for "did you mean"; "" if none is close.
std::string closest_hint(std::string_view key);

// Applies the requested hints in order; later ones override earlier ones. Sizes may have units ("16MiB", "4k"). Never fails: a
// hint that can't be applied becomes a note. `time`: kOpen while the file is being opened, kAnyTime later.
void apply_hints(HintSet& set, const std::vector<AskedHint>& asked, HintTime time);
void apply_hints(HintSet& set, const InfoItems& items, HintSource source, HintTime time);
// As the last function applies them: MPI leaves the order of an Info's keys open, so a hint's own name counts, whatever an alias says.
InfoItems own_names_last(InfoItems items);
// Replaces an earlier note of the same key and origin, so that a program that calls set_info in a loop doesn't grow the list.
void add_note(HintSet& set, HintNote note);
// Marks applied hints whose value differs from `in_effect` (from effective_hints). `creates`: the open may have created the file.
void note_ineffective(HintSet& set, const InfoItems& in_effect, bool creates);
// Whether all ranks use rank 0's value of this hint.
bool hint_must_agree(const std::string& key);
InfoItems parse_hint_string(const std::string& text);        // "k=v;k=v"
// Every hint in effect as key/value text, under canonical names and the aliases that programs look for. Unknown keys of the user
// and values that are left to the system are not included.
InfoItems effective_hints(const Hints& hints);
inline constexpr std::string_view kOtherNames[] = {"collective_buffering", "stripe_size", "stripe_width"};   // these aliases

}  // namespace mercutio
