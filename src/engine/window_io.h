// What an aggregator does with the storage: one window at a time. Inside engine/ only.
#pragma once

#include "engine/coverage.h"
#include "engine/engine.h"
#include "plan/plan.h"

namespace mercutio {

// Writes the covered bytes of a window; `data` holds the window and may be filled up where it has holes. Never touches a
// byte before the first or after the last covered one. Holes: covered runs that lie close together are read, merged and
// written back as one, under an exclusive lock of just their span; where that is not allowed, or the runs are long, they
// are written as pieces of one vectored call.
Status write_window(const EngineFile& file, FileRange window, std::byte* data, const Coverage& covered);

// Reads the needed bytes of a window (and what lies between, where holes are small). Returns the file offset of the first
// needed byte that is beyond end of file, INT64_MAX if there is none. Needed bytes that were not read are zero.
Result<i64> read_window(const EngineFile& file, FileRange window, std::byte* data, const Coverage& needed);

}  // namespace mercutio
