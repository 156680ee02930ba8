// Allocates space for a file without changing its contents.
#pragma once

#include "base/result.h"

namespace mercutio::posix {

// Uses fallocate if supported, otherwise writes zeros into holes and beyond the end. Existing data is neither read nor written:
// writing it back would undo concurrent writes of other processes.
Status allocate(int fd, i64 bytes);

// Only the fallback.
Status allocate_by_writing(int fd, i64 bytes);

}  // namespace mercutio::posix
