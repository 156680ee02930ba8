// Vectored reads and writes on a file descriptor: what the posix driver and its queues run.
#pragma once

#include <unistd.h>

#include <limits>
#include <span>

#include "storage/posix/gather.h"
#include "storage/storage.h"

namespace mercutio::posix {

// Parts of transfer(). Any pieces; and the rest of one piece after a system call for it that returned `moved`.
Result<i64> transfer_checked(int fd, Direction direction, std::span<const IoPiece> pieces);
Result<i64> transfer_rest(int fd, Direction direction, const IoPiece& piece, i64 moved);

// Implements the contract of Storage::read and Storage::write. Pieces that are adjacent in the file become one system call of up to
// IOV_MAX buffers and 1 GiB. Pieces that are adjacent in memory, too, become one buffer. Nearly always one call moves one piece. That is inline:
// the kernel's own calls overwrite the processor's stack of return addresses, so that each function that waits for the system call returns slowly.
inline Result<i64> transfer(int fd, Direction direction, std::span<const IoPiece> pieces) {
  if (pieces.size() != 1) return transfer_checked(fd, direction, pieces);
  const IoPiece& piece = pieces[0];
  const bool fits_a_call = piece.bytes > 0 && piece.bytes <= kMaxCallBytes && piece.offset >= 0 && piece.offset <= std::numeric_limits<i64>::max() - kMaxCallBytes;
  if (!fits_a_call) return transfer_checked(fd, direction, pieces);
  const auto size = static_cast<size_t>(piece.bytes);
  const i64 moved = direction == Direction::kRead ? ::pread(fd, piece.data, size, piece.offset) : ::pwrite(fd, piece.data, size, piece.offset);
  return moved == piece.bytes ? Result<i64>(moved) : transfer_rest(fd, direction, piece, moved);
}

// Whether a read at this offset that failed, or met the end of the file, is to be made again: Linux's client of CephFS (seen in 6.1) may go by a size
// that was true before another node wrote. It then takes a difference of numbers for the result, such as an error whose number is the offset, or
// reports too few bytes. FUSE goes by the size that it has kept for up to a second, too, where files have no direct I/O of its own. The server is asked
// for the size. `error`: of the read; 0: the end. Keeps errno.
bool read_missed_bytes(int fd, i64 offset, int error);

}  // namespace mercutio::posix
