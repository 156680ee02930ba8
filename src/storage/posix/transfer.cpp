// Vectored transfers: a gatherer cuts the pieces into runs that are contiguous in the file, and each run is moved by
// preadv/pwritev until it is complete, at end of file, or failed. One system call per run in the ordinary case; nothing
// is allocated and no byte is copied.
#include "storage/posix/transfer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "storage/posix/gather.h"

namespace mercutio::posix {
namespace {

ssize_t call_once(int fd, Direction direction, const Run& run) {
  const iovec* buffers = run.buffers.data() + run.first;
  const size_t count = run.count - run.first;
  const bool reading = direction == Direction::kRead;
  if (count > 1) {
    const ssize_t moved = reading ? ::preadv(fd, buffers, static_cast<int>(count), run.offset)
                                  : ::pwritev(fd, buffers, static_cast<int>(count), run.offset);
    if (moved >= 0 || errno != ENOSYS) return moved;
    // A sandbox without vectored calls: one buffer at a time.
  }
  return reading ? ::pread(fd, buffers->iov_base, buffers->iov_len, run.offset)
                 : ::pwrite(fd, buffers->iov_base, buffers->iov_len, run.offset);
}

Error failed_call(Direction direction, i64 offset, i64 bytes) {
  return error_from_errno(direction == Direction::kRead ? "pread" : "pwrite", errno, offset, bytes);
}

}  // namespace

Result<i64> move_run(int fd, Direction direction, Run& run) {
  const bool reading = direction == Direction::kRead;
  i64 total = 0;
  while (run.bytes > 0) {
    const ssize_t moved = call_once(fd, direction, run);
    if (moved < 0) {
      if (errno == EINTR) continue;
      return failed_call(direction, run.offset, run.bytes).behind(total);
    }
    if (moved == 0) {
      if (reading) break;
      return error_from_errno("pwrite wrote nothing", EIO, run.offset, run.bytes).behind(total);
    }
    total += moved;
    run.advance(moved);
  }
  return total;
}

Status check_pieces(std::span<const IoPiece> pieces) {
  for (const IoPiece& piece : pieces) {
    if (piece.bytes < 0 || piece.offset < 0 || piece.offset > std::numeric_limits<i64>::max() - piece.bytes)
      return Error{ErrorClass::kArg, "a transfer outside of what a file can hold", EINVAL, piece.offset, piece.bytes};
  }
  return ok_status();
}

static Result<i64> move_all(int fd, Direction direction, std::span<const IoPiece> pieces) {
  Gatherer gatherer(pieces);
  Run run;
  i64 total = 0;
  while (gatherer.next(run)) {
    const i64 wanted = run.bytes;
    Result<i64> moved = move_run(fd, direction, run);
    if (!moved) return std::move(moved).error().behind(total);
    total += *moved;
    if (*moved < wanted) break;
  }
  return total;
}

// Nearly always one call moves one piece, and there is nothing to gather. What it leaves is moved by move_all().
Result<i64> transfer(int fd, Direction direction, std::span<const IoPiece> pieces) {
  MERCUTIO_TRY(check_pieces(pieces));
  if (pieces.size() != 1 || pieces[0].bytes == 0 || pieces[0].bytes > kMaxCallBytes) return move_all(fd, direction, pieces);
  IoPiece rest = pieces[0];
  const bool reading = direction == Direction::kRead;
  const auto size = static_cast<size_t>(rest.bytes);
  const i64 moved = reading ? ::pread(fd, rest.data, size, rest.offset) : ::pwrite(fd, rest.data, size, rest.offset);
  if (moved == rest.bytes || (reading && moved == 0)) return moved;
  if (moved < 0 && errno != EINTR) return failed_call(direction, rest.offset, rest.bytes);
  const i64 before = std::max<i64>(moved, 0);
  rest = {rest.offset + before, rest.data + before, rest.bytes - before};
  Result<i64> after = move_all(fd, direction, std::span(&rest, 1));
  return after ? before + *after : Result<i64>(std::move(after).error().behind(before));
}

}  // namespace mercutio::posix
