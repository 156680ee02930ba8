// Early moves: in a collective access without an exchange, each rank moves its own data before it knows of the others, if all did nothing else
// the times before. The gather by which the ranks would begin then ends the access: each says in it whether it has moved its data. So the access costs
// one agreement, and no rank waits for a late one before its data is moved. If some rank has not, all carry out the access as if none had: they
// move their data again.
//
// The standard wants a barrier between an independent access and a collective one of the same bytes by another rank. Programs and libraries take the
// collective access for it. So a rank that has made independent accesses since its last collective one of the file doesn't move early: reads by others
// see what it has written then, and their writes come after its own. Only their writes may come before what it has read. That is why a file's writes
// become early late (PatternMemory::moves_early), and never again after this has happened. Inside engine/ only.
#pragma once

#include <algorithm>
#include <optional>

#include "base/attempt.h"
#include "engine/io/engine_file.h"
#include "engine/node_entry.h"

namespace mercutio {

struct EarlyMove {
  bool may = false;           // nothing on this rank keeps the ranks from moving early
  std::optional<i64> moved;   // bytes, if it has moved early and without an Error
  i64 ns = 0;                 // what that took, if the file is traced
};

// `move` moves this rank's data, if `goes_early` and this rank may. Where it is called twice in an access, the second time does not go early if some rank
// may not: saw_own() has forgotten the accesses before.
template <class Move>
EarlyMove move_early(const EngineFile& file, bool goes_early, Move move) {
  EarlyMove early;
  early.may = file.independent_accesses && !file.independent_accesses->take() && file.storage->traits().coherence == Coherence::kImmediate;
  if (!early.may || !goes_early) return early;
  const PhaseScope phase(file.counters, Phase::kOwn);
  const i64 start = file.is_traced ? now_ns() : 0;
  if (const Result<i64> moved = attempt(move)) early.moved = *moved;   // after an Error it moves again, and the ranks agree on what comes then
  if (file.is_traced) early.ns = now_ns() - start;
  return early;
}

// Divides what this rank has waited in kArrive since the clock's last reading. As long as the longest move took longer than its own, it waited for a
// slow rank, which is kAgree. The rest it waited for a late one. `longest_ns`: the maximum over the ranks.
inline void end_wait(PhaseClock& clock, const EarlyMove& early, i64 longest_ns) {
  const i64 begin = clock.last_ns();
  clock.enter(Phase::kAgree);
  clock.reassign(Phase::kArrive, Phase::kAgree, std::min(clock.last_ns() - begin, longest_ns - early.ns));
}

}  // namespace mercutio
