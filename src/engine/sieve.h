// Data sieving: many small pieces as few large transfers of whole windows. Inside engine/ only.
#pragma once

#include "engine/engine.h"

namespace mercutio {

// Reads whole windows and copies the requested bytes. Begins after the first `done` bytes of the access, which count as
// read. Needs a monotone, non-overlapping view.
Result<i64> sieve_read(const EngineFile& file, const Access& access, i64 done = 0);

// Writes window by window: locks the window exclusively, reads it, merges, and writes it back. A window without holes
// is neither read nor locked. `locked`: the caller holds a lock on the whole access.
Result<i64> sieve_write(const EngineFile& file, const Access& access, bool locked);

}  // namespace mercutio
