#include "model/pattern.h"

#include <algorithm>

namespace mercutio {
namespace {

i64 first_run(const RankSummary& rank) {
  if (rank.first_run_bytes > 0) return rank.first_run_bytes;
  return rank.run_bytes > 0 ? rank.run_bytes : rank.contiguous() ? rank.bytes : 0;
}

i64 average_run(const RankSummary& rank) { return rank.run_bytes > 0 ? rank.run_bytes : rank.contiguous() ? rank.bytes : 0; }

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
  const FileRange range = view.range_of(position, position + bytes);
  rank.first = range.begin;
  rank.last = range.end;
  rank.run_bytes = rank.first_run_bytes = bytes;
  if (rank.contiguous()) return rank;
  rank.first_run_bytes = first_run_of(view, position, bytes);
  rank.run_bytes = std::clamp<i64>(view.filetype->size() / std::max<i64>(1, view.filetype->pieces()), 1, bytes);
  return rank;
}

void PatternTotals::add(const PatternTotals& other) {
  if (other.participants == 0) return;
  begin = participants == 0 ? other.begin : std::min(begin, other.begin);
  end = participants == 0 ? other.end : std::max(end, other.end);
  participants += other.participants;
  contiguous += other.contiguous;
  bytes += other.bytes;
  runs += other.runs;
  not_looked += other.not_looked;
}

// A rank joins the group of the rank before it if its first run begins where that one's ended (OMPIO's rule for 2-D
// views, Chaarawi and Gabriel 2011). Ranks without data in between join as well: they change nothing.
void PatternPart::add(i64 rank, const RankSummary& summary) {
  follows_ = follows_ && rank == next_rank_;
  next_rank_ = rank + 1;
  if (summary.bytes <= 0) return;
  const i64 run = average_run(summary);
  totals_.add(PatternTotals{1, summary.contiguous() ? 1 : 0, summary.bytes, summary.first, summary.last, run, run > 0 ? 0 : 1});
  const bool joins = follows_ && !groups_.empty() && summary.first == groups_.back().run_end;
  if (!joins) groups_.push_back(OpenGroup{RankRow{rank, rank, 0, summary.first, summary.first}});
  OpenGroup& open = groups_.back();
  open.disjoint &= summary.first >= open.group.end ? 1 : 0;
  open.group.end_rank = rank + 1;
  open.group.bytes += summary.bytes;
  open.group.end = std::max(open.group.end, summary.last);
  open.run_end = summary.first + first_run(summary);
  follows_ = true;
}

namespace {

// Of groups by rank.
std::vector<OpenGroup> connect(std::vector<OpenGroup> groups) {
  std::vector<OpenGroup> connected;
  for (OpenGroup& next : groups) {
    if (connected.empty() || next.group.begin != connected.back().run_end) {
      connected.push_back(next);
      continue;
    }
    OpenGroup& open = connected.back();
    open.disjoint &= next.disjoint & (next.group.begin >= open.group.end ? 1 : 0);
    open.group.end_rank = next.group.end_rank;
    open.group.bytes += next.group.bytes;
    open.group.end = std::max(open.group.end, next.group.end);
    open.run_end = next.run_end;
  }
  return connected;
}

}  // namespace

// Ranks whose ranges don't overlap are in one group only if their data is one run.
bool are_disjoint(std::vector<OpenGroup> groups) {
  std::sort(groups.begin(), groups.end(), [](const OpenGroup& a, const OpenGroup& b) { return a.group.begin < b.group.begin; });
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].disjoint == 0 || (i > 0 && groups[i].group.begin < groups[i - 1].group.end)) return false;
  }
  return true;
}

Pattern join(Direction direction, bool atomic, i64 ranks, const PatternTotals& totals, std::vector<OpenGroup> groups) {
  Pattern pattern;
  pattern.direction = direction;
  pattern.atomic = atomic;
  pattern.ranks = ranks;
  if (totals.participants == 0) return pattern;
  pattern.participants = totals.participants;
  pattern.contiguous = totals.contiguous;
  pattern.bytes = totals.bytes;
  pattern.begin = totals.begin;
  pattern.end = totals.end;
  pattern.run_bytes = totals.not_looked > 0 ? 0 : totals.runs / totals.participants;
  std::sort(groups.begin(), groups.end(), [](const OpenGroup& a, const OpenGroup& b) { return a.group.first_rank < b.group.first_rank; });
  groups = connect(std::move(groups));
  for (const OpenGroup& open : groups) pattern.groups.push_back(open.group);
  pattern.disjoint = are_disjoint(std::move(groups));
  return pattern;
}

Pattern summarise(Direction direction, bool atomic, std::span<const RankSummary> ranks) {
  PatternPart all;
  for (size_t rank = 0; rank < ranks.size(); ++rank) all.add(static_cast<i64>(rank), ranks[rank]);
  return join(direction, atomic, std::ssize(ranks), all.totals(), all.groups());
}

Pattern moved(Pattern pattern, i64 delta) {
  if (pattern.participants == 0) return pattern;
  pattern.begin += delta;
  pattern.end += delta;
  for (RankRow& group : pattern.groups) {
    group.begin += delta;
    group.end += delta;
  }
  return pattern;
}

bool is_moved(const Pattern& a, const Pattern& b, i64& delta) {
  delta = b.begin - a.begin;
  const auto same_group = [delta](const RankRow& x, const RankRow& y) {
    return x.first_rank == y.first_rank && x.end_rank == y.end_rank && x.bytes == y.bytes && y.begin - x.begin == delta && y.end - x.end == delta;
  };
  return a.direction == b.direction && a.atomic == b.atomic && a.ranks == b.ranks && a.participants == b.participants &&
         a.contiguous == b.contiguous && a.bytes == b.bytes && b.end - a.end == delta && a.disjoint == b.disjoint &&
         a.run_bytes == b.run_bytes && std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(), same_group);
}

}  // namespace mercutio
