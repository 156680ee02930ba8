// Hints: one table (hints.def) makes the struct, the parser, get_info and the documentation.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace mercutio {

using InfoItems = std::vector<std::pair<std::string, std::string>>;   // key, value; in order

enum class Toggle { kAutomatic, kEnable, kDisable };

// Where a value came from, weakest first.
enum class HintSource { kDefault, kSiteFile, kUserFile, kEnvironment, kInfo };

struct Hints {
#define MERCUTIO_HINT(type, name, initial, alias, low, high, unit, when, agree, doc) type name = initial;
#include "model/hints.def"
#undef MERCUTIO_HINT
  bool operator==(const Hints&) const = default;
};

// One line about a hint that was asked for and what became of it.
struct HintNote {
  std::string key, value;
  HintSource source;
  bool applied;
  std::string why_not;   // unknown key, out of range, not settable now, ...
};

struct HintSet {
  Hints values;
  std::vector<HintNote> notes;
};

// kOpen: only when the file is opened; kAnyTime: also later; kOutput: reported, never set.
enum class HintTime { kOpen, kAnyTime, kOutput };

// `time`: kOpen while the file is being opened, kAnyTime later.
// Applies items in order to `set`; sizes take units ("16MiB", "4k"); never fails: what can't be applied becomes a note.
void apply_hints(HintSet& set, const InfoItems& items, HintSource source, HintTime time);
// What applies on all ranks alike (rank 0's value), and what is each rank's own.
bool hint_must_agree(const std::string& key);
// The file named by ROMIO_HINTS, else /etc/romio-hints; then MERCUTIO_HINTS="k=v;k=v", which wins. Read once per open on
// rank 0 and broadcast.
InfoItems hints_from_environment();
InfoItems parse_romio_hints(const std::string& text);        // "key value" lines
InfoItems parse_hint_string(const std::string& text);        // "k=v;k=v"
// Every hint in effect as key/value text, canonical names and the aliases programs look for; unknown keys the user gave
// are not returned, neither are values left to the system.
InfoItems effective_hints(const Hints& hints);

}  // namespace mercutio
