// Space for a file, without a byte of it changed.
#pragma once

#include "base/result.h"

namespace mercutio::posix {

// fallocate, or, where there is none, zeros written into holes and beyond the end. Data that is there is neither read
// nor written: reading it and writing it back would undo what other processes write meanwhile.
Status allocate(int fd, i64 bytes);

// The fallback alone.
Status allocate_by_writing(int fd, i64 bytes);

}  // namespace mercutio::posix
