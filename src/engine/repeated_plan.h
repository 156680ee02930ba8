// Plans of repeated accesses, for the case that one node holds all ranks and each moves its own data. Such a repetition needs
// neither combined entries nor planning. O(ranks). Inside engine/ only.
//
// Each rank compares its entry with the one it had when the plan was made. What the others must know of it is a Repetition, which is less than a cache
// line. If the last access was repeated, the ranks gather Repetitions first, and entries only if they don't agree.
#pragma once

#include "engine/enter.h"
#include "engine/node_entry.h"

namespace mercutio {

bool stores_plans(const EngineFile& file, const Channel& channel, Direction direction);   // all ranks do, or none
// For accesses that hold the ticket now. All ranks get the same answer.
bool expects_repetition(const EngineFile& file, Direction direction);
Repetition repetition_of(const EngineFile& file, Direction direction, const Entry& now);

// Call it after a gather of Repetitions, or of entries, on the node. Fills `agreed`. False: this access does not repeat the stored one.
enum class Gathering { kRepetitions, kEntries };
bool repeat_plan(const EngineFile& file, const NodeArena& arena, Direction direction, Gathering gathering, Agreed& agreed);
// Stores the plan and the entry of this rank that it was made for. O(1).
void remember_plan(const EngineFile& file, const Entry& mine, const Gathered& all, const std::shared_ptr<const Plan>& plan);

}  // namespace mercutio
