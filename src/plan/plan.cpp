// The passes in order, and the look-ups in what they made. O(ranks) once per plan for placement, O(aggregators) for the
// rest; each look-up O(1).
#include "plan/plan.h"

#include <algorithm>

#include "base/assert.h"
#include "plan/planner.h"

namespace mercutio {

using planning::ceil_div;

// The part of the file that the period to which aggregator i belongs takes in turn; with period 1 its domain.
FileRange Plan::block(i64 i) const {
  if (domain_map == DomainMap::kSegments) return segments[static_cast<size_t>(i)].range;
  const i64 start = domain_origin + i / period * domain_bytes;
  FileRange range{std::max(begin, start), std::min(end, start + domain_bytes)};
  return range.empty() ? FileRange{end, end} : range;
}

FileRange Plan::domain(i64 i) const {
  if (!cyclic()) return block(i);
  const i64 count = windows(i);
  if (count == 0) return FileRange{end, end};
  return FileRange{window(i, 0).begin, window(i, count - 1).end};
}

bool Plan::serves(i64 i, i64 rank) const {
  if (domain_map != DomainMap::kSegments) return true;
  const RankSegment& segment = segments[static_cast<size_t>(i)];
  return rank >= segment.first_rank && rank < segment.end_rank;
}

bool Plan::serves_any(i64 i, std::span<const i64> ranks) const {
  if (domain_map != DomainMap::kSegments) return !ranks.empty();
  const auto first = std::lower_bound(ranks.begin(), ranks.end(), segments[static_cast<size_t>(i)].first_rank);
  return first != ranks.end() && serves(i, *first);
}

// Windows are cut at multiples of buffer_bytes from the domain's unclipped start, so they stay on unit borders. Those that
// lie before the first byte of the pattern are left out: with a buffer smaller than a unit there may be many.
i64 Plan::first_window(i64 i) const {
  if (domain_map == DomainMap::kSegments) return block(i).begin / unit_bytes * unit_bytes + (block(i).begin % unit_bytes) / buffer_bytes * buffer_bytes;
  const i64 start = domain_origin + i * domain_bytes;
  return start + std::max<i64>(0, domain(i).begin - start) / buffer_bytes * buffer_bytes;
}

namespace {

// The windows of one aggregator in a range: its units that meet the range, each cut into parts. Its units are counted as its turns, from file
// offset 0. `in` outlives the object.
class CyclicWindows {
 public:
  CyclicWindows(const CyclicRange& in, i64 buffer_bytes, i64 residue) : in_(in), buffer_bytes_(buffer_bytes), residue_(residue) {
    const FileRange range = in.range;
    if (range.empty() || residue >= in.period) return;
    of_a_cycle_ = ceil_div(in.cycle - residue, in.period);
    parts_ = ceil_div(in.unit_bytes, buffer_bytes);
    const i64 low = range.begin / in.unit_bytes, high = (range.end - 1) / in.unit_bytes, end = turns_before(high + 1);
    first_ = turns_before(low);
    if (first_ == end) return;
    if (unit_of(first_) == low) skipped_ = (range.begin - low * in.unit_bytes) / buffer_bytes;
    const i64 of_the_last = unit_of(end - 1) == high ? (range.end - 1 - high * in.unit_bytes) / buffer_bytes + 1 : parts_;
    count_ = (end - 1 - first_) * parts_ + of_the_last - skipped_;
  }
  i64 count() const { return count_; }
  FileRange window(i64 number) const {
    const i64 part = skipped_ + number, unit = unit_of(first_ + part / parts_) * in_.unit_bytes, start = unit + part % parts_ * buffer_bytes_;
    return FileRange{std::max(in_.range.begin, start), std::min({in_.range.end, start + buffer_bytes_, unit + in_.unit_bytes})};
  }

 private:
  i64 turns_before(i64 unit) const {
    const i64 in_cycle = unit % in_.cycle;
    return unit / in_.cycle * of_a_cycle_ + (in_cycle > residue_ ? ceil_div(in_cycle - residue_, in_.period) : 0);
  }
  i64 unit_of(i64 turn) const { return turn / of_a_cycle_ * in_.cycle + residue_ + turn % of_a_cycle_ * in_.period; }

  const CyclicRange& in_;
  const i64 buffer_bytes_, residue_;
  i64 of_a_cycle_ = 1, parts_ = 1;   // units of a cycle; parts of a unit
  i64 first_ = 0;                    // turn
  i64 skipped_ = 0, count_ = 0;      // parts of the first unit that lie before the range
};

// The turn of aggregator i in a range.
i64 residue_in(const CyclicRange& in, i64 i, i64 aggregators) { return (i - in.first + aggregators) % aggregators; }

}  // namespace

const CyclicRange& Plan::range_at(i64 offset) const {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), offset, [](i64 key, const CyclicRange& r) { return key < r.range.begin; });
  return after == ranges.begin() ? *after : *std::prev(after);
}

i64 Plan::windows(i64 i) const {
  if (domain_map == DomainMap::kRangeCyclic) {
    i64 windows = 0;
    for (const CyclicRange& in : ranges) windows += CyclicWindows(in, buffer_bytes, residue_in(in, i, domains())).count();
    return windows;
  }
  const FileRange range = block(i);
  if (range.empty()) return 0;
  if (cyclic()) return CyclicWindows({range, unit_bytes, period, cycle}, buffer_bytes, i % period).count();
  return ceil_div(range.end - first_window(i), buffer_bytes);
}

FileRange Plan::window(i64 i, i64 round) const {
  MERCUTIO_ASSERT(i >= 0 && i < domains() && round >= 0);
  if (domain_map == DomainMap::kRangeCyclic) {
    for (const CyclicRange& in : ranges) {
      const CyclicWindows windows(in, buffer_bytes, residue_in(in, i, domains()));
      if (round < windows.count()) return windows.window(round);
      round -= windows.count();
    }
    return FileRange{end, end};
  }
  const FileRange range = block(i);
  if (cyclic()) {
    const CyclicRange in{range, unit_bytes, period, cycle};
    const CyclicWindows windows(in, buffer_bytes, i % period);
    return round < windows.count() ? windows.window(round) : FileRange{range.end, range.end};
  }
  const i64 start = first_window(i) + round * buffer_bytes;
  FileRange window{std::max(range.begin, start), std::min(range.end, start + buffer_bytes)};
  return window.empty() ? FileRange{range.end, range.end} : window;
}

i64 Plan::owner(i64 offset, i64 rank) const {
  if (domain_map == DomainMap::kRangeCyclic) {
    const CyclicRange& in = range_at(offset);
    return (in.first + offset / in.unit_bytes % in.cycle % in.period) % domains();
  }
  if (domain_map != DomainMap::kSegments) {
    return (offset - domain_origin) / domain_bytes * period + offset / unit_bytes % cycle % period;
  }
  const auto group = std::upper_bound(segments.begin(), segments.end(), rank, [](i64 key, const RankSegment& s) { return key < s.first_rank; });
  const i64 first_rank = group == segments.begin() ? 0 : std::prev(group)->first_rank;
  const auto after = std::upper_bound(segments.begin(), group, offset, [&](i64 key, const RankSegment& s) {
    return s.first_rank == first_rank && key < s.range.begin;
  });
  return after - segments.begin() - 1;
}

i64 Plan::share_end(i64 offset, i64 rank) const {
  if (!cyclic()) return domain(owner(offset, rank)).end;
  if (domain_map != DomainMap::kRangeCyclic) return (offset / unit_bytes + 1) * unit_bytes;
  const CyclicRange& in = range_at(offset);
  return std::min(in.range.end, (offset / in.unit_bytes + 1) * in.unit_bytes);
}

i64 Plan::shift_unit() const {
  if (domain_map == DomainMap::kEven) return 1;
  if (domain_map == DomainMap::kRangeCyclic) return kEndOfFile;   // ranges are the file's, wherever the pattern lies
  return cyclic() ? unit_bytes * cycle : unit_bytes;
}

void shift(Plan& plan, i64 delta) {
  if (!plan.exchanges()) return;
  MERCUTIO_ASSERT(delta % plan.shift_unit() == 0);
  plan.begin += delta;
  plan.end += delta;
  if (plan.domain_map != DomainMap::kSegments) plan.domain_origin += delta;
  for (RankSegment& segment : plan.segments) {
    segment.range.begin += delta;
    segment.range.end += delta;
  }
}

i64 most_aggregators(const Topology& topology, const Hints& hints) {
  const i64 per_node = hints.mercutio_aggregators_per_node > 0 ? hints.mercutio_aggregators_per_node : planning::kAggregatorsPerNode;
  return std::max<i64>(1, topology.nodes()) * per_node;
}

Layout layout_with_hints(Layout reported, const Hints& hints) {
  if (reported.stripe_bytes > 0) return reported;
  reported.stripe_bytes = hints.striping_unit;
  reported.stripe_count = hints.striping_factor;
  return reported;
}

std::vector<i64> usual_aggregators(const Hints& hints, const Topology& topology, const Layout& layout) {
  constexpr i64 kShareBytes = 64 * MiB, kRunBytes = 64 * KiB;
  std::vector<RankSummary> all;
  for (i64 rank = 0; rank < topology.ranks(); ++rank) {
    const i64 first = rank * kRunBytes, span = (kShareBytes - kRunBytes) * topology.ranks() + kRunBytes;
    all.push_back(RankSummary{kShareBytes, first, first + span, kRunBytes, kRunBytes});
  }
  Hints enabled = hints;
  enabled.romio_cb_write = Toggle::kEnable;
  return make_plan(summarise(Direction::kWrite, false, all), enabled, topology, layout).aggregators;
}

Plan make_plan(const Pattern& pattern, const Hints& hints, const Topology& topology, const Layout& layout) {
  planning::Planner p(pattern, hints, topology, layout);
  p.run("strategy", planning::choose_strategy);
  p.run("map", planning::choose_map);
  p.run("placement", planning::place_aggregators);
  p.run("domains", planning::divide_file);
  p.run("exchange", planning::choose_exchange);
  p.run("rounds", planning::schedule_rounds);
  return std::move(p).finish();
}

}  // namespace mercutio
