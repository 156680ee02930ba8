// The access of one rank, transferred directly, as a list (vectored), or with data sieving.
#pragma once

#include "engine/io/engine_file.h"
#include "plan/plan.h"

namespace mercutio {

// Of the whole extent of an access, for atomic mode: independent() takes the lock, or the caller holds it.
enum class Locking { kNone, kTake, kHeld };

// Takes the lock of an atomic access that the caller executes in several parts. Uses only the view, position, bytes and direction
// of `access`.
Result<std::unique_ptr<HeldLock>> lock_extent(const EngineFile& file, const Access& access);

// Executes `access` and returns the bytes moved. Only a read that reaches the end of the file returns fewer bytes than requested.
// Allocates at most one sieve buffer (hints).
Result<i64> independent(const EngineFile& file, const Access& access, Locking locking = Locking::kNone);

// The same as the part of this rank in a collective access without an exchange. `plan`: of that access; null: none was made. Records whether a read
// blocked, on which the next plan depends.
Result<i64> move_own(EngineFile file, const Access& access, const Plan* plan, bool atomic);

}  // namespace mercutio
