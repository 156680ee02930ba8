#include "model/pattern.h"

#include <algorithm>
#include <vector>

namespace mercutio {

Pattern summarise(Direction direction, bool atomic, std::span<const RankSummary> ranks) {
  Pattern pattern;
  pattern.direction = direction;
  pattern.atomic = atomic;
  pattern.ranks = static_cast<i64>(ranks.size());
  std::vector<RankSummary> active;
  for (const RankSummary& rank : ranks) {
    if (rank.bytes > 0) active.push_back(rank);
  }
  if (active.empty()) return pattern;
  std::sort(active.begin(), active.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  pattern.participants = static_cast<i64>(active.size());
  pattern.begin = active.front().first;
  for (const RankSummary& rank : active) {
    if (rank.first < pattern.end) pattern.disjoint = false;   // end is 0 before the first, and first >= 0
    pattern.end = std::max(pattern.end, rank.last);
    pattern.bytes += rank.bytes;
    if (rank.contiguous()) ++pattern.contiguous;
  }
  return pattern;
}

}  // namespace mercutio
