// The engine executes accesses of one open file.
//
// independent(): the access of one rank (engine/io/independent.h). collective(): the two-phase engine, which executes a Plan (del Rosario,
// Bordawekar, Choudhary 1993; Thakur, Gropp, Lusk 1999). It uses cursors instead of (offset, length) lists.
//
// The folders of the engine, each of which uses those before it only: progress/ drives tasks, agreement/ has what ranks tell each other by
// nodes, io/ accesses the storage for one rank, and window/ moves the data of a collective access. What is here puts them together: enter
// (engine/enter.h), plan, move, agree.
#pragma once

#include <optional>

#include "engine/agreement/collectives.h"
#include "engine/io/independent.h"
#include "engine/progress/task.h"
#include "engine/window/run_list_cache.h"

namespace mercutio {

struct CollectiveOptions {
  bool atomic = false;
  Status entry = ok_status();   // a rank that has failed takes part without data and passes its Error here
  bool individual = false;      // all ranks know that no exchange is needed; nothing is gathered or planned
  bool alone = false;           // only this rank can move its data: then no rank moves that of others
  // For an access in several rounds, each of which is a call of collective(). In: whether this rank has another round. Out, on
  // success: whether any rank has. Null: this rank has no other round. Not allowed with `individual`.
  bool* more = nullptr;
};

// Collective: all ranks call it in the same order per file, each with a channel of its own, which has a ticket if there are several ranks. Returns the bytes moved by this rank.
// If any rank failed, every rank gets an Error of the same class. No rank returns before all have agreed. `access` and what it
// refers to must live until the task ends.
Task<Result<i64>> collective(EngineFile file, Channel channel, Access access, CollectiveOptions options);

// The same for a blocking call, without a task, if each rank has one run of the file and of memory (engine/runs.h). Other ranks may call collective()
// meanwhile. Nothing: the caller goes on with collective(), which does not try runs again. Not with any of CollectiveOptions.
std::optional<Result<i64>> move_run_at_once(const EngineFile& file, const Channel& channel, Direction direction, const IoPiece& mine, const Pause& pause);

}  // namespace mercutio
