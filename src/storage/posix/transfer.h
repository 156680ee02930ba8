// Vectored reads and writes on a file descriptor: what the posix driver and its queues run.
#pragma once

#include <span>

#include "storage/storage.h"

namespace mercutio::posix {

// Implement the contract of Storage::read and Storage::write. Pieces that are adjacent in the file become one system call of up to
// IOV_MAX buffers and 1 GiB. Pieces that are adjacent in memory, too, become one buffer.
Result<i64> transfer(int fd, Direction direction, std::span<const IoPiece> pieces);

// Whether a read at this offset that failed, or met the end of the file, is to be made again: Linux's client of CephFS (seen in 6.1) may go by a size
// that was true before another node wrote. It then takes a difference of numbers for the result, such as an error whose number is the offset, or
// reports too few bytes. FUSE goes by the size that it has kept for up to a second, too, where files have no direct I/O of its own. The server is asked
// for the size. `error`: of the read; 0: the end. Keeps errno.
bool read_missed_bytes(int fd, i64 offset, int error);

}  // namespace mercutio::posix
