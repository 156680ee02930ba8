// Agreement with more to say than yes or no. Inside engine/ only; agree() itself is in engine/collectives.h.
#pragma once

#include "engine/collectives.h"

namespace mercutio {

// As agree(), with one value more: the minimum of `lowest` over all ranks replaces it everywhere, in the same messages.
Task<Status> agree_with_minimum(Channel channel, Status mine, i64& lowest);

}  // namespace mercutio
