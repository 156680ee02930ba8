// Agreement that also reduces a value. Inside engine/ only; agree() is in engine/collectives.h.
#pragma once

#include "engine/collectives.h"

namespace mercutio {

// As agree(); the same messages replace `lowest` by its minimum over all ranks.
Task<Status> agree_with_minimum(Channel channel, Status mine, i64& lowest);

}  // namespace mercutio
