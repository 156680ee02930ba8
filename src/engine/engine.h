// The engine executes accesses of one open file.
//
// independent(): the access of one rank. Each request is transferred plainly, as a list (vectored), or sieved.
// collective(): the one plan-driven two-phase engine (del Rosario, Bordawekar, Choudhary 1993; Thakur, Gropp, Lusk,
// "Data sieving and collective I/O in ROMIO", 1999) with cursors instead of per-access lists.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "base/counters.h"
#include "base/trace.h"
#include "comm/comm.h"
#include "engine/blocking_detector.h"
#include "engine/collectives.h"
#include "engine/dense.h"
#include "engine/layout_known.h"
#include "engine/run_list_cache.h"
#include "engine/task.h"
#include "model/access.h"
#include "model/hints.h"
#include "plan/plan_cache.h"
#include "plan/ways.h"
#include "storage/storage.h"

namespace mercutio {

class Adapter;         // plan/adapter.h
class PatternMemory;   // engine/node_entry.h

// The context of one access. Every pointer is borrowed; unless stated otherwise it must not be null.
struct EngineFile {
  Storage* storage = nullptr;
  Comm* comm = nullptr;
  const Hints* hints = nullptr;      // the hints in effect; constant during the access
  TraceSink* trace = nullptr;        // null: no trace
  std::atomic<bool>* dirty = nullptr;   // set by every write; may be null
  bool readable = true;              // the storage can be read, also by the sieving of a write-only open
  bool scattered = true;             // some rank's view has holes; if none has, no write is sieved and none locks against sieving
  bool any_sieves = true;            // writes may be sieved, by the hints of the open: then all writes lock against it, whatever their hints say
  PlanCache* plans = nullptr;        // of the file; null: every access is planned anew
  LayoutKnown* layout = nullptr;     // of the file; null: its stripes are taken to be the same everywhere
  DensePatterns* dense = nullptr;   // of the file; null: every collective write sets valid maps
  PatternMemory* patterns = nullptr;   // of the file; null: every pattern is gathered anew
  RunListCaches* run_lists = nullptr;      // of the file; null: run lists are not cached
  Counters* counters = nullptr;      // of the access; null: nothing is counted
  BlockingDetector* blocking = nullptr;        // of the file; null: the storage is assumed not to block
  Adapter* adapter = nullptr;        // of the file, for an access with a ticket; null: plans follow the hints and the model alone
  FixedHints fixed_hints;            // with it: those that somebody has set
  i64 hints_edition = 0;             // of `hints`: equal ones of a file mean equal hints; 0: nothing is known
};

// Whether any write may be sieved under these hints on storage with these traits.
bool hints_allow_sieving(const Hints& hints, const Traits& traits);

struct IndependentOptions {
  bool atomic = false;      // hold a lock on the whole extent of the access
  bool locked = false;      // with atomic: the caller holds that lock
};

// Takes the lock of an atomic access that the caller executes in several parts. Only view, position, bytes and
// direction of `access` are used.
Result<std::unique_ptr<HeldLock>> lock_extent(const EngineFile& file, const Access& access);

// Executes `access` and returns the bytes moved: fewer only for reads at the end of the file (a prefix of the stream).
// Uses at most the sieve buffer (hints) beyond the user's buffer.
Result<i64> independent(const EngineFile& file, const Access& access, IndependentOptions options = {});

struct CollectiveOptions {
  bool atomic = false;
  Status entry = ok_status();   // a rank that has failed takes part without data and with this Error
  bool individual = false;      // all ranks know that no exchange is needed: nothing is gathered or planned
  // For accesses in several rounds, each a call of collective(). In: whether this rank has another round. Out, after
  // success: whether any rank has. Null: it has none and does not ask. Not with `individual`.
  bool* more = nullptr;
};

// All ranks call it in the same order per file with a channel of their own. Returns bytes moved by this rank; if any rank
// failed, an Error of the same class on every rank, and nobody returns before all have agreed.
// `access` and what it refers to must live until the task ends.
Task<Result<i64>> collective(EngineFile file, Channel channel, Access access, CollectiveOptions options);

}  // namespace mercutio
