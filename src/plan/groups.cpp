// Groups of ranks for segmentation. Sources: the three steps of Chaarawi and Gabriel, "Automatically selecting the number
// of aggregators" (2011): groups by view, by Cartesian topology or by hint; then groups with more than one process can
// write at full speed are split, consecutive ones with less are merged. O(ranks).
#include <algorithm>

#include "plan/planner.h"

namespace mercutio::planning {
namespace {

constexpr i64 kLongExtentBytes = 4 * MiB;   // extents of this length are as good as contiguous

// Even division of the ranks.
std::vector<RankRow> divide_ranks(i64 ranks, i64 count) {
  std::vector<RankRow> groups;
  for (i64 i = 0; i < count; ++i) groups.push_back(RankRow{ranks * i / count, ranks * (i + 1) / count, 0, 0, 0});
  return groups;
}

// Bytes and file range of each group, from the pattern's groups. Of one that is cut, every part may hold any of its range.
void fill_ranges(std::vector<RankRow>& groups, const Pattern& pattern) {
  size_t at = 0;
  for (RankRow& group : groups) {
    group.bytes = 0;
    group.begin = group.end = pattern.begin;   // of one without data
    for (size_t i = at; i < pattern.groups.size() && pattern.groups[i].first_rank < group.end_rank; ++i) {
      const RankRow& source = pattern.groups[i];
      at = source.end_rank > group.end_rank ? i : i + 1;
      const i64 common = std::min(source.end_rank, group.end_rank) - std::max(source.first_rank, group.first_rank);
      if (common <= 0) continue;
      group.begin = group.bytes == 0 ? source.begin : std::min(group.begin, source.begin);
      group.end = std::max(group.end, source.end);
      group.bytes += std::max<i64>(1, source.bytes / source.ranks() * common);
    }
  }
}

// Ranks without data belong to the group before them.
void cover_all_ranks(std::vector<RankRow>& groups, i64 ranks) {
  groups.front().first_rank = 0;
  for (size_t i = 0; i + 1 < groups.size(); ++i) groups[i].end_rank = groups[i + 1].first_rank;
  groups.back().end_rank = ranks;
}

// Where nobody has measured it, what makes the usual number of aggregators a node.
i64 saturation_of(const Planner& p) {
  if (p.hints.mercutio_saturation_bytes > 0) return p.hints.mercutio_saturation_bytes;
  return std::max(kAggregatorWorthBytes, ceil_div(p.pattern.bytes, p.nodes() * p.per_node()));
}

// Parts of ceil(k * ranks / bytes) ranks. If the last would have less than half of that, its ranks are spread over the rest.
void split_group(const RankRow& group, i64 saturation, std::vector<RankRow>& out) {
  const double worth = static_cast<double>(saturation) * static_cast<double>(group.ranks()) / static_cast<double>(group.bytes);
  const i64 ranks = group.ranks(), size = std::clamp<i64>(static_cast<i64>(worth + 0.999999), 1, ranks);
  const bool even = ranks % size * 2 < size;
  const i64 parts = even ? ranks / size : ceil_div(ranks, size);
  for (i64 part = 0; part < parts; ++part) {
    const i64 first = group.first_rank + (even ? ranks * part / parts : part * size);
    const i64 end = group.first_rank + (even ? ranks * (part + 1) / parts : std::min(ranks, (part + 1) * size));
    out.push_back(RankRow{first, end, group.bytes / ranks * (end - first), 0, 0});
  }
}

struct Refined {
  std::vector<RankRow> groups;
  i64 split = 0, merged = 0;   // of the initial groups
};

// Groups with more than the saturation point are split; consecutive ones with less are merged until there is enough, and
// one that stays alone stays.
Refined split_and_merge(const std::vector<RankRow>& groups, i64 saturation) {
  Refined refined;
  bool open = false;   // the last one is small and takes the next small one in
  for (const RankRow& group : groups) {
    const bool small = group.bytes < saturation;
    if (group.bytes > saturation && group.ranks() > 1) {
      const size_t before = refined.groups.size();
      split_group(group, saturation, refined.groups);
      if (refined.groups.size() > before + 1) ++refined.split;
    } else if (open && small) {
      refined.groups.back().end_rank = group.end_rank;
      refined.groups.back().bytes += group.bytes;
      ++refined.merged;
    } else {
      refined.groups.push_back(group);
    }
    open = small && refined.groups.back().bytes < saturation;
  }
  return refined;
}

// The group that begins with a rank, if one does.
const RankRow* group_at(const std::vector<RankRow>& groups, i64 rank) {
  const auto at = std::lower_bound(groups.begin(), groups.end(), rank, [](const RankRow& g, i64 first) { return g.first_rank < first; });
  return at != groups.end() && at->first_rank == rank ? &*at : nullptr;
}

// Rows of `row` ranks, that is, all of them begin with a group, and hold the groups that begin within `extent` of it.
bool are_rows(const std::vector<RankRow>& groups, i64 row, i64 extent) {
  const RankRow* first = nullptr;
  for (const RankRow& group : groups) {
    if (group.first_rank % row == 0) first = &group;
    else if (!first || group.first_rank / row != first->first_rank / row) return false;
    if (group.begin < first->begin || group.begin - first->begin >= extent) return false;
  }
  return true;
}

bool cartesian_fits(const Planner& p) {
  i64 product = 1;
  for (const i64 extent : p.topology.cartesian) product *= std::max<i64>(1, extent);
  return p.topology.cartesian.size() > 1 && product == p.pattern.ranks;
}

}  // namespace

std::string form_groups(Planner& p) {
  const i64 ranks = p.pattern.ranks;
  const bool rows_seen = std::any_of(p.pattern.groups.begin(), p.pattern.groups.end(), [](const auto& g) { return g.ranks() > 1; });
  std::string why;
  bool refine = true;
  const bool transposed = p.plan.strategy == Strategy::kRowTransposition;
  const LongRows rows = transposed ? long_rows(p.pattern) : LongRows{};
  if (rows.ranks > 0) {
    p.groups = divide_ranks(ranks, ranks / rows.ranks);
    why = "rows of " + std::to_string(rows.ranks) + " ranks, extents of " + std::to_string(rows.extent);
    refine = false;
  } else if (transposed && cartesian_fits(p)) {
    p.groups = divide_ranks(ranks, p.topology.cartesian[0]);
    why = "all but the slowest dimension of the Cartesian topology";
    refine = false;
  } else if (p.hints.cb_nodes > 0) {
    p.groups = divide_ranks(ranks, std::min(p.hints.cb_nodes, ranks));
    why = "cb_nodes=" + std::to_string(p.hints.cb_nodes) + " groups";
    refine = false;
  } else if (rows_seen) {
    p.groups = p.pattern.groups;
    why = std::to_string(p.groups.size()) + " rows seen in the views";
    refine = !transposed;
  } else if (cartesian_fits(p)) {
    p.groups = divide_ranks(ranks, p.topology.cartesian[0]);
    why = "Cartesian topology of " + std::to_string(p.topology.cartesian[0]) + " rows";
  } else {
    p.groups = divide_ranks(ranks, transposed ? 1 : ranks);
    why = "no rows known";
    refine = !transposed;
  }
  cover_all_ranks(p.groups, ranks);
  fill_ranges(p.groups, p.pattern);
  if (!refine) return why;
  const i64 saturation = saturation_of(p);
  Refined refined = split_and_merge(p.groups, saturation);
  p.groups = std::move(refined.groups);
  fill_ranges(p.groups, p.pattern);
  if (refined.split > 0) why += ", " + std::to_string(refined.split) + " split";
  if (refined.merged > 0) why += ", " + std::to_string(refined.merged) + " merged into others";
  if (refined.split + refined.merged > 0) why += ": " + std::to_string(p.groups.size());
  return why + (p.hints.mercutio_saturation_bytes > 0 ? " at mercutio_saturation_bytes=" : " at ") + std::to_string(saturation) + " bytes";
}

i64 count_groups(Planner& p, std::string& why) {
  why = form_groups(p);
  const i64 groups = std::count_if(p.groups.begin(), p.groups.end(), [](const RankRow& group) { return group.bytes > 0; });
  p.groups.clear();
  return std::max<i64>(1, groups);
}

// In a block-decomposed array of any dimensions the next row begins where the extents of the first one end.
LongRows long_rows(const Pattern& pattern) {
  const std::vector<RankRow>& seen = pattern.groups;
  const i64 step = seen.empty() || seen.front().first_rank != 0 ? pattern.ranks : seen.front().ranks();
  if (step < 2) return {};
  for (i64 row = step; row < pattern.ranks; row += step) {
    const RankRow* next = pattern.ranks % row == 0 ? group_at(seen, row) : nullptr;
    const i64 extent = next ? next->begin - pattern.begin : 0;
    if (extent >= kLongExtentBytes) return are_rows(seen, row, extent) ? LongRows{row, extent} : LongRows{};
  }
  return {};
}

double overlap_of(const std::vector<RankRow>& groups) {
  std::vector<FileRange> ranges;
  for (const RankRow& group : groups) {
    if (group.bytes > 0) ranges.push_back(FileRange{group.begin, group.end});
  }
  std::sort(ranges.begin(), ranges.end(), [](const FileRange& a, const FileRange& b) { return a.begin < b.begin; });
  double sum = 0, covered = 0;
  i64 end = 0;
  for (const FileRange& range : ranges) {
    sum += static_cast<double>(range.bytes());
    covered += static_cast<double>(std::max<i64>(0, range.end - std::max(end, range.begin)));
    end = std::max(end, range.end);
  }
  return covered > 0 ? sum / covered : 1;
}

}  // namespace mercutio::planning
