// Vectored reads and writes on a file descriptor: what the posix driver and its queues run.
#pragma once

#include <span>

#include "storage/storage.h"

namespace mercutio::posix {

// Implement the contract of Storage::read and Storage::write. Pieces that are adjacent in the file become one system call of up to
// IOV_MAX buffers and 1 GiB. Pieces that are adjacent in memory, too, become one buffer.
Result<i64> transfer(int fd, Direction direction, std::span<const IoPiece> pieces);

}  // namespace mercutio::posix
