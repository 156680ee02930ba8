// Plans of repeated accesses, for the case that one node holds all ranks and each moves its own data. Such a repetition needs
// neither combined entries nor planning. O(ranks). Inside engine/ only.
//
// Where the storage only copies, waiting for each other takes the ranks longer than a small transfer. A rank whose own access
// repeats expects that all do. It then moves its data before it takes part in the gather of entries, and tells the others. If all
// ranks have done so and the access does repeat, this gather is the only one. If it does not, the access is planned as usual. An
// exchange then moves the data again, which gives the same bytes.
#pragma once

#include "engine/enter.h"
#include "engine/node_entry.h"

namespace mercutio {

// Moves this rank's data if it expects a repetition. Fills `mine` and `agreed`. For operations whose ticket is current.
void move_early(const EngineFile& file, const Access& access, Entry& mine, Agreed& agreed);
// Call it after the node's gather of entries. Fills `agreed`. False: this access does not repeat one without exchange.
bool repeat_plan(const EngineFile& file, const NodeArena& arena, Direction direction, Agreed& agreed);
// Stores the plan and the entries it was made for.
void remember_plan(const EngineFile& file, const NodeArena& arena, const Gathered& all, const std::shared_ptr<const Plan>& plan);

}  // namespace mercutio
