// The engine executes accesses of one open file.
//
// independent(): the access of one rank, transferred directly, as a list (vectored), or with data sieving. collective(): the
// two-phase engine, which executes a Plan (del Rosario, Bordawekar, Choudhary 1993; Thakur, Gropp, Lusk, "Data sieving and
// collective I/O in ROMIO", 1999). It uses cursors instead of (offset, length) lists.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/counters.h"
#include "base/trace.h"
#include "comm/comm.h"
#include "engine/collectives.h"
#include "engine/run_list_cache.h"
#include "engine/task.h"
#include "model/access.h"
#include "model/hints.h"
#include "plan/layout_known.h"
#include "plan/plan_cache.h"
#include "plan/ways.h"
#include "storage/blocking_detector.h"
#include "storage/storage.h"

namespace mercutio {

class Adapter;         // plan/adapter.h
class PatternMemory;   // engine/node_entry.h
class SieveGate;       // engine/sieve_gate.h

// The context of one access. All pointers are borrowed. A pointer must not be null unless its comment says so.
struct EngineFile {
  Storage* storage = nullptr;
  Comm* comm = nullptr;
  const Hints* hints = nullptr;      // the hints in effect; constant during the access
  TraceSink* trace = nullptr;        // null: no trace
  std::atomic<bool>* dirty = nullptr;   // set by every write; null: not recorded
  bool readable = true;              // the storage can be read, even if the file was opened write-only
  bool scattered = true;             // the view of some rank has holes; if none has, no write is sieved and none needs a lock against sieving
  bool any_sieves = true;            // the hints of the open permit sieved writes: then every write locks against them, whatever its own hints say
  // By the plan of the access, whatever the hints say; nothing: as these say.
  std::optional<Toggle> sieving = std::nullopt;
  SieveGate* gate = nullptr;         // of the file; null, on all ranks: every write of a file with any_sieves locks
  PlanCache* plans = nullptr;        // of the file; null: every access is planned
  LayoutKnown* layout = nullptr;     // of the file; null: the file has one striping throughout
  // Of the file; null: every pattern is gathered, and every collective write sets valid maps.
  PatternMemory* patterns = nullptr;
  RunListCaches* run_lists = nullptr;      // of the file; null: run lists are not cached
  Counters* counters = nullptr;      // of the access; null: nothing is counted
  BlockingDetector* blocking = nullptr;        // of the file; null: the storage is assumed not to block
  Adapter* adapter = nullptr;        // of the file, for an access with a ticket; null: plans follow the hints and the model alone
  FixedHints fixed_hints;            // with an adapter: the hints that somebody has set
  i64 hints_edition = 0;             // identifies `hints`: equal values of one file mean equal hints; 0: unknown
};

// Whether some write may be sieved under these hints on storage with these traits.
bool hints_allow_sieving(const Hints& hints, const Traits& traits);

struct IndependentOptions {
  bool atomic = false;      // hold a lock on the whole extent of the access
  bool locked = false;      // with atomic: the caller holds that lock
};

// Takes the lock of an atomic access that the caller executes in several parts. Uses only the view, position, bytes and direction
// of `access`.
Result<std::unique_ptr<HeldLock>> lock_extent(const EngineFile& file, const Access& access);

// Executes `access` and returns the bytes moved. Only a read that reaches the end of the file returns fewer bytes than requested.
// Allocates at most one sieve buffer (hints).
Result<i64> independent(const EngineFile& file, const Access& access, IndependentOptions options = {});

struct CollectiveOptions {
  bool atomic = false;
  Status entry = ok_status();   // a rank that has failed takes part without data and passes its Error here
  bool individual = false;      // all ranks know that no exchange is needed; nothing is gathered or planned
  bool alone = false;           // only this rank can move its data: then no rank moves that of others
  bool declined = false;        // move_run_at_once() has found that the ranks don't move this access as runs
  // For an access in several rounds, each of which is a call of collective(). In: whether this rank has another round. Out, on
  // success: whether any rank has. Null: this rank has no other round. Not allowed with `individual`.
  bool* more = nullptr;
};

// Collective: all ranks call it in the same order per file, each with a channel of its own. Returns the bytes moved by this rank.
// If any rank failed, every rank gets an Error of the same class. No rank returns before all have agreed. `access` and what it
// refers to must live until the task ends.
Task<Result<i64>> collective(EngineFile file, Channel channel, Access access, CollectiveOptions options);

// The same for a blocking call, without a task, if each rank has one run of the file and of memory (engine/runs.h). Other ranks may call collective()
// meanwhile. Nothing: the caller goes on with collective(). Not with any of CollectiveOptions.
struct RunsAtOnce {
  const Pause& pause;
  bool declined = false;        // see CollectiveOptions
};
std::optional<Result<i64>> move_run_at_once(const EngineFile& file, const Channel& channel, Direction direction, const IoPiece& mine, RunsAtOnce& at_once);

}  // namespace mercutio
