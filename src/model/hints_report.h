// What is told about hints: the table of those in effect, with where each came from and what became of other wishes; and
// warnings, each once a process. Nothing of it is printed here.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "model/hints.h"

namespace mercutio {

struct HintRow {
  std::string key, value, from, remark;
  bool operator==(const HintRow&) const = default;
};

// A row for each hint in effect (as of effective_hints), in the order of hints.def; then one for each key that means nothing
// here. Values and remarks are short and of printable characters.
std::vector<HintRow> hint_rows(const HintSet& set, const InfoItems& in_effect);
std::string hint_table(const std::vector<HintRow>& rows);   // aligned columns, a line a row

// "cb_ndoes=4 (MERCUTIO_HINTS): unknown key; did you mean cb_nodes?"
std::string note_text(const HintNote& note);

// Speaks for a process: MERCUTIO_PRINT_HINTS (ROMIO_PRINT_HINTS, MPICH_MPIIO_HINTS_DISPLAY) for tables, MERCUTIO_WARN for
// warnings. Mistakes in what is written for Mercutio are warned of, unless MERCUTIO_WARN=0; what other libraries' variables
// and files have, if it is a hint and can't be used; a program's Info only with MERCUTIO_WARN=1 or where tables are shown,
// as MPI lets every layer put its own keys there. Any thread.
class HintReporter {
 public:
  explicit HintReporter(std::function<void(const std::string&)> say) : say_(std::move(say)) {}
  bool shows_tables() const;
  void show(const std::string& title, const HintSet& set, const InfoItems& in_effect);
  void warn(const HintSet& set);
  void warn(const std::vector<std::string>& problems);

 private:
  void once(const std::string& subject, const std::string& text);
  std::function<void(const std::string&)> say_;
  std::mutex mutex_;
  std::set<std::string> reported_ MERCUTIO_GUARDED_BY(mutex_);
};

}  // namespace mercutio
