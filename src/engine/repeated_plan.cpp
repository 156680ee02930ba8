#include "engine/repeated_plan.h"

#include <optional>

#include "engine/pieces.h"

namespace mercutio {
namespace {

// The stored plan, if the ranks, all on this node, repeat the access it was made for, all shifted by the same distance. Null: they
// do not. Each rank decides without communication, because all ranks have the same entries.
std::shared_ptr<const Plan> remembered_plan(const EngineFile& file, const NodeArena& arena, const PatternMemory::Alone& then) {
  if (!then.plan || file.hints_edition == 0 || then.hints_edition != file.hints_edition) return nullptr;
  std::optional<i64> moved_by;
  for (size_t i = 0; i < arena.members().size(); ++i) {
    const Entry &before = then.entries[i], &now = entry_at(arena, i);
    if (now.circumstances.failed != 0 || !now.circumstances.all_hold(0)) return nullptr;
    if (!before.circumstances.plans_like(now.circumstances) || before.choices != now.choices) return nullptr;
    RankSummary moved = before.summary;
    if (moved.bytes > 0) {
      const i64 distance = now.summary.first - moved.first;
      if (moved_by.value_or(distance) != distance) return nullptr;
      moved_by = distance;
      moved.first += distance;
      moved.last += distance;
    }
    if (moved != now.summary) return nullptr;
  }
  return then.plan;
}

}  // namespace

bool repeat_plan(const EngineFile& file, const NodeArena& arena, Direction direction, Agreed& agreed) {
  const i64 start = file.trace ? now_ns() : 0;
  agreed.plan = remembered_plan(file, arena, file.patterns->alone(direction));
  if (!agreed.plan) return false;
  for (size_t i = 0; i < arena.members().size(); ++i) {
    const Circumstances& theirs = entry_at(arena, i).circumstances;
    agreed.more = agreed.more || theirs.more != 0;
    agreed.atomic = agreed.atomic || theirs.atomic != 0;
  }
  file.counters->plans_reused += 1;
  if (file.trace) record(file, TraceKind::kPlan, start, 0, -1);
  return true;
}

void remember_plan(const EngineFile& file, const NodeArena& arena, const Gathered& all, const std::shared_ptr<const Plan>& plan) {
  PatternMemory::Alone& alone = file.patterns->alone(all.pattern.direction);
  file.patterns->set_moves_alone(all.pattern.direction, !plan->exchanges());
  alone.plan = nullptr;
  if (plan->exchanges() || !all.circumstances.all_hold(0)) return;
  alone.entries.clear();
  for (size_t i = 0; i < arena.members().size(); ++i) alone.entries.push_back(entry_at(arena, i));
  alone.hints_edition = file.hints_edition;
  alone.plan = plan;
}

}  // namespace mercutio
