// Pattern: what all ranks together are about to do, in numbers that are the same on every rank. Made from one small
// summary a rank; the only thing about an access that a plan may depend on.
#pragma once

#include <span>

#include "base/types.h"

namespace mercutio {

// What one rank tells the others when it enters a collective access.
struct RankSummary {
  i64 bytes = 0;       // data bytes; 0: takes part without data
  i64 first = 0;       // file range that holds them, where bytes > 0
  i64 last = 0;        // one past the end
  bool contiguous() const { return last - first == bytes; }
  bool operator==(const RankSummary&) const = default;
};

struct Pattern {
  Direction direction = Direction::kRead;
  bool atomic = false;
  i64 ranks = 1;
  i64 participants = 0;      // ranks with data
  i64 contiguous = 0;        // participants whose data is one run in the file
  i64 bytes = 0;             // of all ranks
  i64 begin = 0, end = 0;    // file range over participants
  bool disjoint = true;      // no two participants' ranges overlap
  bool operator==(const Pattern&) const = default;
};

// Costs a sort of the participants.
Pattern summarise(Direction direction, bool atomic, std::span<const RankSummary> ranks);

}  // namespace mercutio
