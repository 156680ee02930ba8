#include "model/pattern.h"

#include <algorithm>

namespace mercutio {
namespace {

// Rank i joins the group of the rank before it if its first run begins where that one's ended (OMPIO's rule for 2-D
// views, Chaarawi and Gabriel 2011). Ranks without data in between join as well: they change nothing.
std::vector<RankGroup> group_ranks(std::span<const RankSummary> ranks) {
  std::vector<RankGroup> groups;
  i64 run_end = -1;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const RankSummary& rank = ranks[i];
    if (rank.bytes <= 0) continue;
    const i64 number = static_cast<i64>(i);
    if (groups.empty() || rank.first != run_end) {
      groups.push_back(RankGroup{number, number, 0, rank.first, rank.last});
    }
    RankGroup& group = groups.back();
    group.end_rank = number + 1;
    group.bytes += rank.bytes;
    group.begin = std::min(group.begin, rank.first);
    group.end = std::max(group.end, rank.last);
    run_end = rank.first + (rank.run_bytes > 0 ? rank.run_bytes : rank.contiguous() ? rank.bytes : 0);
  }
  return groups;
}

}  // namespace

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
  bool looked = true;
  for (const RankSummary& rank : active) {
    if (rank.first < pattern.end) pattern.disjoint = false;   // end is 0 before the first, and first >= 0
    pattern.end = std::max(pattern.end, rank.last);
    pattern.bytes += rank.bytes;
    if (rank.contiguous()) ++pattern.contiguous;
    const i64 run = rank.run_bytes > 0 ? rank.run_bytes : rank.contiguous() ? rank.bytes : 0;
    looked = looked && run > 0;
    pattern.run_bytes += run / pattern.participants;
  }
  if (!looked) pattern.run_bytes = 0;
  pattern.groups = group_ranks(ranks);
  return pattern;
}

}  // namespace mercutio
