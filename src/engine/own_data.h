// The data of a collective access that each rank moves itself. Inside engine/ only.
#pragma once

#include "engine/engine.h"

namespace mercutio {

// Moves this rank's data. `plan`: of the access, without exchange; null: the hints of the file decide. Returns the bytes moved.
Result<i64> move_own(const EngineFile& file, const Access& access, bool atomic, const Plan* plan);

}  // namespace mercutio
