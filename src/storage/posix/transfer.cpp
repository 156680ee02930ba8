// Vectored transfers: a gatherer cuts the pieces into runs that are contiguous in the file, and each run is moved by
// preadv/pwritev until it is complete, at end of file, or failed. One system call per run in the ordinary case; nothing
// is allocated and no byte is copied.
#include "storage/posix/transfer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "storage/posix/file_system.h"
#include "storage/posix/gather.h"

namespace mercutio::posix {
namespace {

// The number of writes in a row that write nothing after which the access fails. Linux's client of pNFS lets a direct write return 0 where it has to
// ask for its layout again: the next call writes (seen in 6.1).
constexpr int kEmptyWrites = 16;

// The same for reads that missed bytes: after each of them another node may have written.
constexpr int kMissedReads = 16;

// Of a system call: -1 and errno where it failed. What the kernel's client of CephFS returns may be no number of an error (read_missed_bytes),
// and then libc takes it for none.
i64 checked(i64 moved) {
  if (moved >= -1) return moved;
  errno = EIO;
  return -1;
}

i64 call_once(int fd, Direction direction, const Run& run) {
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

bool read_missed_bytes(int fd, i64 offset, int error) {
  if (error == EFAULT && offset != EFAULT) return false;   // memory of a device, perhaps
  const int before = errno;
  struct statfs system {};
  struct statx file {};
  const auto magic = ::fstatfs(fd, &system) == 0 ? static_cast<unsigned long>(system.f_type) : 0;
  const bool may_miss = magic == kCephMagic || (magic == kFuseMagic && error == 0);
  const bool missed = may_miss && ::statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE, &file) == 0 && static_cast<i64>(file.stx_size) > offset;
  errno = before;
  return missed;
}

Result<i64> move_run(int fd, Direction direction, Run& run) {
  const bool reading = direction == Direction::kRead;
  i64 total = 0;
  int empty = 0, missed = 0;
  while (run.bytes > 0) {
    const i64 moved = checked(call_once(fd, direction, run));
    if (reading && moved <= 0 && missed < kMissedReads && read_missed_bytes(fd, run.offset, moved < 0 ? errno : 0)) {
      ++missed;
      continue;
    }
    if (moved < 0) {
      if (errno == EINTR) continue;
      return failed_call(direction, run.offset, run.bytes).behind(total);
    }
    if (moved == 0) {
      if (reading) break;
      if (++empty < kEmptyWrites) continue;
      return error_from_errno("pwrite wrote nothing", EIO, run.offset, run.bytes).behind(total);
    }
    empty = missed = 0;
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

Result<i64> transfer_checked(int fd, Direction direction, std::span<const IoPiece> pieces) {
  MERCUTIO_TRY(check_pieces(pieces));
  return move_all(fd, direction, pieces);
}

Result<i64> transfer_rest(int fd, Direction direction, const IoPiece& piece, i64 moved) {
  const bool reading = direction == Direction::kRead;
  moved = checked(moved);
  if (!reading || moved > 0 || !read_missed_bytes(fd, piece.offset, moved < 0 ? errno : 0)) {
    if (reading && moved == 0) return moved;
    if (moved < 0 && errno != EINTR) return failed_call(direction, piece.offset, piece.bytes);
  }
  const i64 before = std::max<i64>(moved, 0);
  const IoPiece rest{piece.offset + before, piece.data + before, piece.bytes - before};
  Result<i64> after = move_all(fd, direction, std::span(&rest, 1));
  return after ? before + *after : Result<i64>(std::move(after).error().behind(before));
}

}  // namespace mercutio::posix
