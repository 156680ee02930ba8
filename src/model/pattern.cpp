#include "model/pattern.h"

#include <algorithm>

namespace mercutio {
namespace {

i64 first_run(const RankSummary& rank) {
  if (rank.first_run_bytes > 0) return rank.first_run_bytes;
  return rank.run_bytes > 0 ? rank.run_bytes : rank.contiguous() ? rank.bytes : 0;
}

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
    run_end = rank.first + first_run(rank);
  }
  return groups;
}

i64 first_run_of(const View& view, i64 position, i64 bytes) {
  const i64 pieces = view.filetype->pieces(), size = view.filetype->size();
  if (pieces == 1) return std::min(bytes, size - position % size);
  return view.cursor(position, position + bytes).next(INT64_MAX, 1).bytes;
}

}  // namespace

RankSummary summary_of(const View& view, i64 position, i64 bytes) {
  RankSummary rank;
  if (bytes <= 0) return rank;
  rank.bytes = bytes;
  rank.first = view.first_offset(position);
  rank.last = view.last_offset(position + bytes);
  rank.run_bytes = rank.first_run_bytes = bytes;
  if (rank.contiguous()) return rank;
  rank.first_run_bytes = first_run_of(view, position, bytes);
  rank.run_bytes = std::clamp<i64>(view.filetype->size() / std::max<i64>(1, view.filetype->pieces()), 1, bytes);
  return rank;
}

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
