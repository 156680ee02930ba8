#include "engine/repeated_plan.h"

#include <algorithm>
#include <optional>

#include "engine/own_data.h"
#include "engine/pieces.h"

namespace mercutio {
namespace {

constexpr i64 kMostEarlyBytes = 1 * MiB;   // a larger transfer takes longer than a gather

bool is_one_run(const RankSummary& summary) { return summary.bytes == 0 || summary.contiguous(); }

bool holds(const EngineFile& file, const PatternMemory::Alone& then) {
  return then.plan && file.hints_edition != 0 && then.hints_edition == file.hints_edition;
}

// Whether a rank has the circumstances of the access `before`. Its data may be another one's.
bool same_circumstances(const Entry& before, const Entry& now) {
  return now.circumstances.failed == 0 && now.circumstances.all_hold(0) && before.circumstances.plans_like(now.circumstances) && before.choices == now.choices;
}

// Whether a rank repeats its access, shifted by `moved_by`. If nothing is known of that yet, it is determined.
bool repeats(RankSummary before, const RankSummary& now, std::optional<i64>& moved_by) {
  if (before.bytes > 0) {
    const i64 distance = now.first - before.first;
    if (moved_by.value_or(distance) != distance) return false;
    moved_by = distance;
    before.first += distance;
    before.last += distance;
  }
  return before == now;
}

bool all_repeat(const NodeArena& arena, const PatternMemory::Alone& then) {
  std::optional<i64> moved_by;
  for (size_t i = 0; i < arena.members().size(); ++i) {
    if (!repeats(then.entries[i].summary, entry_at(arena, i).summary, moved_by)) return false;
  }
  return true;
}

// Whether each rank has one run or nothing, and no runs overlap.
bool all_plain(const NodeArena& arena, std::vector<FileRange>& ranges) {
  ranges.clear();
  for (size_t i = 0; i < arena.members().size(); ++i) {
    const RankSummary& summary = entry_at(arena, i).summary;
    if (!is_one_run(summary)) return false;
    if (summary.bytes > 0) ranges.push_back({summary.first, summary.last});
  }
  std::sort(ranges.begin(), ranges.end(), [](const FileRange& a, const FileRange& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin < ranges[i - 1].end) return false;
  }
  return true;
}

// The stored plan, if it is that of this access as well. Null: it may not be. Each rank decides without communication, because all
// ranks have the same entries.
std::shared_ptr<const Plan> remembered_plan(const EngineFile& file, const NodeArena& arena, PatternMemory::Alone& then) {
  if (!holds(file, then)) return nullptr;
  for (size_t i = 0; i < arena.members().size(); ++i) {
    if (!same_circumstances(then.entries[i], entry_at(arena, i))) return nullptr;
  }
  return all_repeat(arena, then) || (then.plain && all_plain(arena, then.ranges)) ? then.plan : nullptr;
}

}  // namespace

void move_early(const EngineFile& file, const Access& access, Entry& mine, Agreed& agreed) {
  const PatternMemory::Alone& then = file.patterns->alone(access.direction);
  if (!holds(file, then) || mine.circumstances.atomic != 0 || access.bytes > kMostEarlyBytes || !only_copies(file)) return;
  const Entry& before = then.entries[static_cast<size_t>(file.comm->rank())];
  std::optional<i64> moved_by;
  if (!same_circumstances(before, mine) || !((then.plain && is_one_run(mine.summary)) || repeats(before.summary, mine.summary, moved_by))) return;
  const PhaseScope phase(file.counters, Phase::kOwn);
  agreed.early = move_own(file, access, /*atomic=*/false, then.plan.get());
  mine.moved = agreed.early->ok() ? MovedEarly::kYes : MovedEarly::kFailed;
}

bool repeat_plan(const EngineFile& file, const NodeArena& arena, Direction direction, Agreed& agreed) {
  const i64 start = file.trace ? now_ns() : 0;
  agreed.plan = remembered_plan(file, arena, file.patterns->alone(direction));
  if (!agreed.plan) return false;
  agreed.all_moved = true;
  agreed.failing = file.comm->size();
  for (size_t i = 0; i < arena.members().size(); ++i) {
    const Entry& theirs = entry_at(arena, i);
    agreed.more = agreed.more || theirs.circumstances.more != 0;
    agreed.atomic = agreed.atomic || theirs.circumstances.atomic != 0;
    if (theirs.moved == MovedEarly::kNo) agreed.all_moved = false;
    if (theirs.moved == MovedEarly::kFailed) agreed.failing = std::min(agreed.failing, arena.members()[i]);
  }
  file.counters->plans_reused += 1;
  if (file.trace) record(file, TraceKind::kPlan, start, 0, -1);
  return true;
}

void remember_plan(const EngineFile& file, const NodeArena& arena, const Gathered& all, const std::shared_ptr<const Plan>& plan) {
  const Pattern& pattern = all.pattern;
  PatternMemory::Alone& alone = file.patterns->alone(pattern.direction);
  file.patterns->set_moves_alone(pattern.direction, !plan->exchanges());
  alone.plan = nullptr;
  if (plan->exchanges() || !all.circumstances.all_hold(0)) return;
  alone.entries.clear();
  for (size_t i = 0; i < arena.members().size(); ++i) alone.entries.push_back(entry_at(arena, i));
  alone.hints_edition = file.hints_edition;
  alone.plain = plan->strategy == Strategy::kIndividual && pattern.disjoint && pattern.contiguous == pattern.participants && pattern.participants > 0;
  alone.plan = plan;
}

}  // namespace mercutio
