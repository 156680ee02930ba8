// The open file that accesses are made of, as the engine sees it.
#pragma once

#include <atomic>
#include <optional>

#include "base/counters.h"
#include "base/trace.h"
#include "comm/comm.h"
#include "engine/io/independent_accesses.h"
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
class RunListCaches;   // engine/window/run_list_cache.h
class SieveGate;       // engine/io/sieve_gate.h

// The context of one access. All pointers are borrowed. A pointer must not be null unless its comment says so.
struct EngineFile {
  Storage* storage = nullptr;
  Comm* comm = nullptr;              // null: for independent() alone, without a gate
  const Hints* hints = nullptr;      // the hints in effect; constant during the access
  TraceSink* trace = nullptr;        // null: no trace
  std::atomic<bool>* dirty = nullptr;   // set by every write; null: not recorded
  bool readable = true;              // the storage can be read, even if the file was opened write-only
  // The view of some rank has holes, and the hints of the open permit sieved writes: then every write locks against them, whatever its own hints
  // say. Otherwise no write is sieved.
  bool sieved = true;
  // By the plan of the access, whatever the hints say; nothing: as these say.
  std::optional<Toggle> sieving = std::nullopt;
  SieveGate* gate = nullptr;         // of the file; null, on all ranks: every write of a file with `sieved` locks
  PlanCache* plans = nullptr;        // of the file; null: every access is planned
  LayoutKnown* layout = nullptr;     // of the file; null: the file has one striping throughout
  // Of the file; null: every pattern is gathered, and every collective write sets valid maps.
  PatternMemory* patterns = nullptr;
  RunListCaches* run_lists = nullptr;      // of the file; null: run lists are not cached
  Counters* counters = nullptr;      // of the access; null: nothing is counted, and there is no trace
  BlockingDetector* blocking = nullptr;        // of the file; null: the storage is assumed not to block
  Adapter* adapter = nullptr;        // of the file, for an access with a ticket; null: plans follow the hints and the model alone
  FixedHints fixed_hints;            // with an adapter: the hints that somebody has set
  i64 hints_edition = 0;             // identifies `hints`: equal values of one file mean equal hints; 0: unknown
  IndependentAccesses::Watch* independent_accesses = nullptr;   // of the file; null: no rank moves its data early (engine/early.h)
  bool core_each = false;            // for each rank of the node
  bool is_traced = false;            // the file has a trace, whether or not this access is recorded
};

// Whether some write may be sieved under these hints on storage with these traits.
bool hints_allow_sieving(const Hints& hints, const Traits& traits);

}  // namespace mercutio
