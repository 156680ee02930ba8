// The engine: executes accesses over one open file.
//
// independent(): one rank's access; chosen per request among plain, vectored and sieved transfers.
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
#include "engine/run_list_cache.h"
#include "engine/task.h"
#include "model/access.h"
#include "model/hints.h"
#include "plan/plan_cache.h"
#include "storage/storage.h"

namespace mercutio {

// What one access may spend, and how it chooses. Taken from Hints once per access.
struct EngineFile {
  Storage* storage = nullptr;
  Comm* comm = nullptr;
  const Hints* hints = nullptr;      // the effective hints; stable while an access runs
  TraceSink* trace = nullptr;        // may be null
  std::atomic<bool>* dirty = nullptr;   // set by every path that wrote
  bool readable = true;              // the storage may be read (write-only opens still read for sieving when true)
  bool scattered = true;             // some rank's view has holes; if none has, nobody sieves and nobody locks against it
  PlanCache* plans = nullptr;        // the file's; null: every access is planned anew
  DensePatterns* dense = nullptr;   // the file's; null: every collective write sets valid maps
  RunListCaches* run_lists = nullptr;      // the file's; null: run lists are sent every time
  Counters* counters = nullptr;      // of the access; null: nobody counts
  BlockingDetector* blocking = nullptr;        // the file's; null: the storage is taken not to make its callers wait
};

struct IndependentOptions {
  bool atomic = false;      // hold a lock on the whole extent of the access
  bool locked = false;      // with atomic: the caller holds such a lock
};

// The lock of an atomic access: for a caller that carries it out in several parts. Only view, position, bytes and direction
// of `access` count.
Result<std::unique_ptr<HeldLock>> lock_extent(const EngineFile& file, const Access& access);

// Moves the bytes of `access`; returns bytes moved: short only for reads at end of file (a prefix of the stream).
// Bounded memory: at most the sieve buffer (hints) beyond the user's buffer.
Result<i64> independent(const EngineFile& file, const Access& access, IndependentOptions options = {});

// What ranks know of each other's views; kept per file, refreshed when any rank's view changed (see ViewExchange).
class PeerViews;

struct CollectiveOptions {
  bool atomic = false;
  Status entry = ok_status();   // a rank that already failed joins with an empty access and this Error
  bool individual = false;      // all ranks know that each can move its bytes alone: nothing is gathered and planned
  // For accesses in several rounds, each a call of collective(): whether this rank has another round, and after a round that
  // succeeded, whether any rank has. Null: it has none, and does not ask. Not with `individual`.
  bool* more = nullptr;
};

// All ranks call it in the same order per file with a channel of their own. Returns bytes moved by this rank; if any rank
// failed, an Error of the same class on every rank, and nobody returns before all have agreed.
// `access` and what it refers to must live until the task ends. `views` is the file's.
Task<Result<i64>> collective(EngineFile file, Channel channel, std::shared_ptr<PeerViews> views, Access access,
                             CollectiveOptions options);
std::shared_ptr<PeerViews> make_peer_views();

}  // namespace mercutio
