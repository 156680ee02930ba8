// Groups of ranks for segmentation. Sources: the three steps of Chaarawi and Gabriel, "Automatically selecting the number
// of aggregators" (2011): groups by view, by Cartesian topology or by hint; then groups with more than one process can
// write at full speed are split, consecutive ones with less are merged. O(ranks).
#include <algorithm>

#include "plan/planner.h"

namespace mercutio::planning {
namespace {

constexpr i64 kLongExtentBytes = 4 * MiB;   // extents of this length are as good as contiguous

// Even division of the ranks.
std::vector<RankGroup> divide_ranks(i64 ranks, i64 count) {
  std::vector<RankGroup> groups;
  for (i64 i = 0; i < count; ++i) groups.push_back(RankGroup{ranks * i / count, ranks * (i + 1) / count, 0, 0, 0});
  return groups;
}

// Bytes and file range of each group, from the pattern's groups. Of one that is cut, every part may hold any of its range.
void fill_ranges(std::vector<RankGroup>& groups, const Pattern& pattern) {
  size_t at = 0;
  for (RankGroup& group : groups) {
    group.bytes = 0;
    group.begin = group.end = pattern.begin;   // of one without data
    for (size_t i = at; i < pattern.groups.size() && pattern.groups[i].first_rank < group.end_rank; ++i) {
      const RankGroup& source = pattern.groups[i];
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
void cover_all_ranks(std::vector<RankGroup>& groups, i64 ranks) {
  groups.front().first_rank = 0;
  for (size_t i = 0; i + 1 < groups.size(); ++i) groups[i].end_rank = groups[i + 1].first_rank;
  groups.back().end_rank = ranks;
}

i64 saturation_of(const Planner& p) {
  if (p.hints.mercutio_saturation_bytes > 0) return p.hints.mercutio_saturation_bytes;
  return std::max(kAggregatorWorthBytes, ceil_div(p.pattern.bytes, p.nodes() * kAggregatorsPerNode));
}

std::vector<RankGroup> split_groups(const std::vector<RankGroup>& groups, i64 saturation) {
  std::vector<RankGroup> out;
  for (const RankGroup& group : groups) {
    const double ranks_worth = static_cast<double>(saturation) * static_cast<double>(group.ranks()) /
                               static_cast<double>(std::max<i64>(1, group.bytes));
    const i64 size = group.bytes <= saturation ? group.ranks() : std::clamp<i64>(static_cast<i64>(ranks_worth + 0.999999), 1, group.ranks());
    for (i64 rank = group.first_rank; rank < group.end_rank; rank += size) {
      const i64 end = std::min(rank + size, group.end_rank);
      out.push_back(RankGroup{rank, end, group.bytes / group.ranks() * (end - rank), 0, 0});
    }
  }
  return out;
}

// Consecutive small groups, until there is enough; one that stays alone stays.
std::vector<RankGroup> merge_groups(const std::vector<RankGroup>& groups, i64 saturation) {
  std::vector<RankGroup> out;
  bool open = false;
  for (const RankGroup& group : groups) {
    const bool small = group.bytes < saturation;
    if (open && small) {
      out.back().end_rank = group.end_rank;
      out.back().bytes += group.bytes;
    } else {
      out.push_back(group);
    }
    open = small && out.back().bytes < saturation;
  }
  return out;
}

// Ranks that share all but the k fastest dimensions, for the smallest k that makes long extents of their data.
i64 row_ranks(const Planner& p) {
  const std::vector<i64>& dims = p.topology.cartesian;
  i64 row = 1;
  for (size_t d = dims.size(); d > 1; --d) {
    row *= dims[d - 1];
    if (p.pattern.run_bytes > 0 && p.pattern.run_bytes * row >= kLongExtentBytes) break;
  }
  return row;
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
  if (p.plan.strategy == Strategy::kRowTransposition && cartesian_fits(p)) {
    p.groups = divide_ranks(ranks, ranks / row_ranks(p));
    why = "rows of " + std::to_string(row_ranks(p)) + " Cartesian ranks";
    refine = false;
  } else if (p.hints.cb_nodes > 0) {
    p.groups = divide_ranks(ranks, std::min(p.hints.cb_nodes, ranks));
    why = "cb_nodes=" + std::to_string(p.hints.cb_nodes) + " groups";
    refine = false;
  } else if (rows_seen) {
    p.groups = p.pattern.groups;
    why = std::to_string(p.groups.size()) + " rows seen in the views";
    refine = p.plan.strategy != Strategy::kRowTransposition;
  } else if (cartesian_fits(p)) {
    p.groups = divide_ranks(ranks, p.topology.cartesian[0]);
    why = "Cartesian topology of " + std::to_string(p.topology.cartesian[0]) + " rows";
  } else {
    p.groups = divide_ranks(ranks, p.plan.strategy == Strategy::kRowTransposition ? 1 : ranks);
    why = "no rows known";
    refine = p.plan.strategy != Strategy::kRowTransposition;
  }
  cover_all_ranks(p.groups, ranks);
  fill_ranges(p.groups, p.pattern);
  if (!refine) return why;
  const size_t before = p.groups.size();
  const i64 saturation = saturation_of(p);
  p.groups = split_groups(p.groups, saturation);
  const size_t split = p.groups.size();
  p.groups = merge_groups(p.groups, saturation);
  fill_ranges(p.groups, p.pattern);
  if (split > before) why += ", split into " + std::to_string(split);
  if (p.groups.size() < split) why += ", merged into " + std::to_string(p.groups.size());
  return why + (p.hints.mercutio_saturation_bytes > 0 ? " at mercutio_saturation_bytes=" : " at ") + std::to_string(saturation) + " bytes";
}

}  // namespace mercutio::planning
