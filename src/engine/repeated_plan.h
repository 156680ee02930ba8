// Plans of repeated accesses, for the case that one node holds all ranks and each moves its own data. Such a repetition needs
// neither combined entries nor planning. O(ranks). Inside engine/ only.
#pragma once

#include "engine/enter.h"
#include "engine/node_entry.h"

namespace mercutio {

// Call it after the node's gather of entries. Fills `agreed`. False: this access does not repeat one without exchange.
bool repeat_plan(const EngineFile& file, const NodeArena& arena, Direction direction, Agreed& agreed);
// Stores the plan and the entries it was made for.
void remember_plan(const EngineFile& file, const NodeArena& arena, const Gathered& all, const std::shared_ptr<const Plan>& plan);

}  // namespace mercutio
