#include "engine/repeated_plan.h"

#include <optional>

#include "engine/pieces.h"
#include "plan/adapter.h"

namespace mercutio {
namespace {

// All ranks have the same plan, and the same editions of their hints.
bool holds(const EngineFile& file, const PatternMemory::Alone& then) {
  return then.plan && file.hints_edition != 0 && then.hints_edition == file.hints_edition;
}

// What all ranks do, if all repeat their accesses shifted by the same distance.
std::optional<Repetition> common(const NodeArena& arena, Gathering gathering) {
  Repetition all;
  std::optional<i64> moved_by;
  for (size_t i = 0; i < arena.members().size(); ++i) {
    const std::byte* const theirs = arena.contribution(static_cast<i64>(i));
    const Repetition& one = gathering == Gathering::kEntries ? reinterpret_cast<const Entry*>(theirs)->repetition : *reinterpret_cast<const Repetition*>(theirs);
    if (!one.repeats()) return std::nullopt;
    const bool moves = (one.flags & Repetition::kMoves) != 0;
    if (moves && moved_by.value_or(one.moved_by) != one.moved_by) return std::nullopt;
    if (moves) moved_by = one.moved_by;
    all.flags |= one.flags;
  }
  return all;
}

}  // namespace

bool stores_plans(const EngineFile& file, const Channel& channel, Direction direction) {
  return file.patterns && channel.ticket && channel.ticket->arena().whole() && !(file.adapter && file.adapter->searches(direction));
}

bool expects_repetition(const EngineFile& file, Direction direction) {
  const PatternMemory::Alone& then = file.patterns->alone(direction);
  return holds(file, then) && then.expected;
}

Repetition repetition_of(const EngineFile& file, Direction direction, const Entry& now) {
  const PatternMemory::Alone& then = file.patterns->alone(direction);
  const Circumstances& circumstances = now.circumstances;
  if (!holds(file, then) || circumstances.failed != 0 || !circumstances.all_hold(0)) return {};
  if (!then.mine.circumstances.plans_like(circumstances) || then.mine.choices != now.choices) return {};
  Repetition mine;
  RankSummary moved = then.mine.summary;
  if (moved.bytes > 0) {
    mine.moved_by = now.summary.first - moved.first;
    mine.flags |= Repetition::kMoves;
    moved.first += mine.moved_by;
    moved.last += mine.moved_by;
  }
  if (moved != now.summary) return {};
  mine.flags |= Repetition::kRepeats;
  if (circumstances.more != 0) mine.flags |= Repetition::kMore;
  if (circumstances.atomic != 0) mine.flags |= Repetition::kAtomic;
  return mine;
}

bool repeat_plan(const EngineFile& file, const NodeArena& arena, Direction direction, Gathering gathering, Agreed& agreed) {
  const i64 start = file.trace ? now_ns() : 0;
  PatternMemory::Alone& then = file.patterns->alone(direction);
  const std::optional<Repetition> all = common(arena, gathering);
  then.expected = all && (all->flags & Repetition::kMore) == 0;
  if (!all || (gathering == Gathering::kRepetitions && !then.expected)) return false;
  agreed.plan = then.plan;
  agreed.more = (all->flags & Repetition::kMore) != 0;
  agreed.atomic = (all->flags & Repetition::kAtomic) != 0;
  file.counters->plans_reused += 1;
  if (file.trace) record(file, TraceKind::kPlan, start, 0, -1);
  return true;
}

void remember_plan(const EngineFile& file, const Entry& mine, const Gathered& all, const std::shared_ptr<const Plan>& plan) {
  PatternMemory::Alone& alone = file.patterns->alone(all.pattern.direction);
  file.patterns->set_moves_alone(all.pattern.direction, !plan->exchanges());
  alone.plan = nullptr;
  if (plan->exchanges() || !all.circumstances.all_hold(0)) return;
  alone.mine = mine;
  alone.hints_edition = file.hints_edition;
  alone.plan = plan;
}

}  // namespace mercutio
