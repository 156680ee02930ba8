// The plans of accesses that a file repeats, where one node holds all ranks and each moves its own data: then nothing is added up and nothing
// planned. O(ranks). Inside engine/ only.
#pragma once

#include "engine/enter.h"
#include "engine/node_entry.h"

namespace mercutio {

// After the node's gather of Entries. Fills `agreed`; false: this access repeats none without exchange.
bool repeat_plan(const EngineFile& file, const NodeArena& arena, Direction direction, Agreed& agreed);
// What that plan was made for.
void remember_plan(const EngineFile& file, const NodeArena& arena, const Gathered& all, const std::shared_ptr<const Plan>& plan);

}  // namespace mercutio
