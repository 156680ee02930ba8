// Collective accesses in which each rank has at most one run of the file and of memory, if one node holds all ranks. Inside engine/ only.
//
// The ranks gather where their runs are, and each finds from all of them how they are moved:
//   led   few bytes in few runs, written to storage that only copies by ranks with a core each. What a rank writes is part of what it contributes to
//         the gather. The first rank writes the bytes of all ranks, with adjacent runs in one piece, as writes of one file wait for each other.
//   own   the runs are disjoint, or few bytes are read. Each rank moves its own, as the planner has it if no hint asks for more.
// Otherwise they go on with enter(). Then the ranks agree, as after every collective access. No rank returns before all data has been moved.
// Costs two gathers and O(ranks), or one gather if the ranks move early (engine/early.h).
#pragma once

#include <optional>

#include "engine/engine.h"
#include "engine/node_entry.h"

namespace mercutio {

// All ranks get the same answer, for all accesses of a file.
bool may_move_runs(const EngineFile& file, const Channel& channel);
// Whether the next access may be moved so, after one of this pattern that was not tried.
bool are_runs(const Gathered& all);

// The run of this rank, with 0 bytes if it has no data. Nothing: it can't take part in this way.
std::optional<IoPiece> run_of(const EngineFile& file, const Access& access, const CollectiveOptions& options);

struct RunLimits {
  static constexpr i64 kMostRanks = 128;
  static constexpr i64 kHeadBytes = 4 * static_cast<i64>(sizeof(i64));   // of what a rank contributes to the gather, before its data
  static constexpr i64 kEntryBytes = NodeArena::kGatherBytes - kHeadBytes;
  // Being led costs a second meeting, and two copies from core to core. Of a few ranks that takes longer than their waiting for each other, unless their
  // runs are short, and adjoin. Ranks that share cores wait for each other in any case.
  static constexpr i64 kFewRanks = 8, kShortBytes = 128;
  static constexpr i64 kMostLedBytes = 8 * KiB;   // of all ranks
};

// All of it. Nothing: the ranks go on with enter().
Task<std::optional<Result<i64>>> move_runs(const EngineFile& file, const Channel& channel, Direction direction, std::optional<IoPiece> mine);

}  // namespace mercutio
