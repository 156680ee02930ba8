// Pattern: a summary of a collective access, the same on every rank. It is made from one small summary per rank. A plan depends on
// nothing else about the access.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "base/types.h"
#include "model/view.h"

namespace mercutio {

// One rank's part of a collective access.
struct RankSummary {
  i64 bytes = 0;       // data bytes; 0: the rank takes part without data
  i64 first = 0;       // begin of the file range that holds them, if bytes > 0
  i64 last = 0;        // one past its end
  i64 run_bytes = 0;   // average length of a contiguous run in the file; 0: not determined
  i64 first_run_bytes = 0;   // length of the first run; 0: the average
  bool contiguous() const { return last - first == bytes; }
  bool operator==(const RankSummary&) const = default;
};

// Consecutive ranks whose first runs are adjacent in the file: a row of a block-decomposed array.
struct RankRow {
  i64 first_rank = 0, end_rank = 0;
  i64 bytes = 0;
  i64 begin = 0, end = 0;   // file range of its members
  i64 ranks() const { return end_rank - first_rank; }
  bool operator==(const RankRow&) const = default;
};

// All of a pattern but its groups.
struct PatternFacts {
  Direction direction = Direction::kRead;
  bool atomic = false;
  i64 ranks = 1;
  i64 participants = 0;      // ranks with data
  i64 contiguous = 0;        // participants whose data is one run in the file
  i64 bytes = 0;             // of all ranks
  i64 begin = 0, end = 0;    // file range over participants
  bool disjoint = true;      // no two participants' ranges overlap
  i64 run_bytes = 0;         // average over participants; 0: not determined by at least one rank
  // Bytes of [begin, end) that no rank touches: the gap test of the strategy.
  i64 gap_bytes() const { return end - begin > bytes ? end - begin - bytes : 0; }
  bool operator==(const PatternFacts&) const = default;
};

struct Pattern : PatternFacts {
  std::vector<RankRow> groups;   // of ranks with data, in rank order; at most one per participant
  bool operator==(const Pattern&) const = default;
};

// The summary of `bytes` of a view from stream position `position` on. The average run is that of the whole filetype. List-free:
// O(depth log n), O(1) for a contiguous view.
RankSummary summary_of(const View& view, i64 position, i64 bytes);

// A group within a part of the ranks. A following part may continue it.
struct OpenGroup {
  RankRow group;
  i64 run_end = 0;      // of the first run of its last rank with data
  i64 disjoint = 1;     // no two members' ranges overlap
  bool operator==(const OpenGroup&) const = default;
};

// The sum of the summaries of a set of ranks. Sums of disjoint sets add up to the pattern. Groups are stored separately.
struct PatternTotals {
  i64 participants = 0, contiguous = 0, bytes = 0;
  i64 begin = 0, end = 0;   // file range, if participants > 0
  i64 runs = 0;             // sum of the participants' average runs
  i64 not_looked = 0;       // participants that did not determine their runs
  void add(const PatternTotals& other);
  bool operator==(const PatternTotals&) const = default;
};

// Adds up ranks in ascending order. Ranks that are skipped belong to other sets.
class PatternPart {
 public:
  void add(i64 rank, const RankSummary& summary);
  const PatternTotals& totals() const { return totals_; }
  const std::vector<OpenGroup>& groups() const& { return groups_; }
  std::vector<OpenGroup> groups() && { return std::move(groups_); }

 private:
  PatternTotals totals_;
  std::vector<OpenGroup> groups_;
  i64 next_rank_ = 0;
  bool follows_ = true;   // no rank was skipped since the last one with data
};

// Whether no two ranks' ranges overlap.
bool are_disjoint(std::vector<OpenGroup> groups);
// The pattern of all ranks. `groups`: the groups of all parts, in any order; they are sorted.
Pattern join(Direction direction, bool atomic, i64 ranks, const PatternTotals& totals, std::vector<OpenGroup> groups);
// The same from the summaries of all ranks.
Pattern summarise(Direction direction, bool atomic, std::span<const RankSummary> ranks);

// Whether b is a, moved by `delta` bytes in the file.
bool is_moved(const Pattern& a, const Pattern& b, i64& delta);
Pattern moved(Pattern pattern, i64 delta);

}  // namespace mercutio
