// Data sieving: transfers many small pieces as few whole windows of the file. Inside engine/ only.
#pragma once

#include "engine/io/independent.h"

namespace mercutio {

// Reads whole windows and copies the requested bytes out of them. Starts after the first `done` bytes of the access, which count as
// read. Requires a monotone, non-overlapping view.
Result<i64> sieve_read(const EngineFile& file, const Access& access, i64 done = 0);

// Writes window by window: locks the window exclusively, reads it, merges the data, and writes it back. A window without holes is
// neither read nor locked. `locked`: the caller holds a lock on the whole access.
Result<i64> sieve_write(const EngineFile& file, const Access& access, bool locked);

}  // namespace mercutio
