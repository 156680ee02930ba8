// Accesses that repeat the last one of their direction at another offset: neither entries are combined nor groups
// gathered, and a plan without exchange is used again. Inside engine/ only.
//
// Each rank compares its entry with the one it had then. If the last access was a repetition, or might be followed by
// one, the ranks first reduce their Repetitions: one all-reduce of less than a cache line. They gather entries only if
// some rank does not repeat.
#pragma once

#include "engine/enter.h"
#include "engine/node_entry.h"

namespace mercutio {

Repetition repetition_of(const PatternMemory::Last& last, const Entry& now);
// Whether a repetition by all ranks needs no plan of its own. The same on all ranks.
bool may_reuse_plan(const EngineFile& file, Direction direction);
// Then: fills `agreed` with the plan of the last access.
void reuse_plan(const EngineFile& file, Direction direction, const Repetition& all, Agreed& agreed);
// What would have been gathered of it. `last` is this access then.
void move_to(PatternMemory::Last& last, const Entry& mine, const Repetition& all);
void remember_plan(const EngineFile& file, PatternMemory::Last& last, const std::shared_ptr<const Plan>& plan);

}  // namespace mercutio
