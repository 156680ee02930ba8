// The storage accesses of an aggregator, one window at a time. Inside engine/ only.
#pragma once

#include "engine/io/engine_file.h"
#include "engine/window/valid_map.h"
#include "plan/plan.h"

namespace mercutio {

// Writes the valid bytes of a window. `data` holds the window; its holes may be overwritten. No byte before the first
// or after the last valid one is written. Runs that are close together are read, merged and written back as one, under
// an exclusive lock of their range. If that is not allowed, or if the runs are long, they are written as the pieces of
// one vectored call.
Status write_valid(const EngineFile& file, FileRange window, std::byte* data, const ValidMap& valid);

// Reads the needed bytes of a window, and small holes between them. Returns the file offset of the first needed byte beyond the end
// of the file; INT64_MAX: none. Needed bytes that were not read are zero.
Result<i64> read_needed(const EngineFile& file, FileRange window, std::byte* data, const ValidMap& needed);

}  // namespace mercutio
