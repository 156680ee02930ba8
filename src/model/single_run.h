// Accesses that are one run of the file, or of memory.
#pragma once

#include "model/access.h"

namespace mercutio {

// Where `bytes` > 0 bytes of a view's stream are in the file, if they are one run of it; -1: they aren't, or end beyond what a file can
// have.
i64 offset_of_run(const View& view, i64 position, i64 bytes);

// Where memory that is contiguous() begins.
inline std::byte* begin_of(const Memory& memory) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<i64>(memory.base) + memory.type->offset_of(0));
}

}  // namespace mercutio
