// Vectored transfers: a gatherer cuts the pieces into runs that are contiguous in the file, and each run is moved by
// preadv/pwritev until it is complete, at end of file, or failed. One system call per run in the ordinary case; nothing
// is allocated and no byte is copied.
#include "storage/posix/transfer.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

namespace mercutio::posix {
namespace {

constexpr i64 kMaxCallBytes = 1024 * MiB;  // Linux moves at most 2^31 - 4096 bytes in one call
constexpr size_t kMaxBuffers = 1024;       // IOV_MAX of Linux

struct Run {
  i64 offset = 0;
  i64 bytes = 0;
  size_t first = 0;  // of the buffers that are still to be moved
  size_t count = 0;  // one after the last
  std::array<iovec, kMaxBuffers> buffers;

  bool append(const IoPiece& piece, i64 skip, i64 take) {
    std::byte* data = piece.data + skip;
    if (count > 0) {
      iovec& last = buffers[count - 1];
      if (static_cast<std::byte*>(last.iov_base) + last.iov_len == data) {
        last.iov_len += static_cast<size_t>(take);
        bytes += take;
        return true;
      }
    }
    if (count == kMaxBuffers) return false;
    buffers[count++] = iovec{data, static_cast<size_t>(take)};
    bytes += take;
    return true;
  }

  void advance(i64 moved) {
    offset += moved;
    bytes -= moved;
    while (moved > 0) {
      iovec& buffer = buffers[first];
      const i64 part = std::min(moved, static_cast<i64>(buffer.iov_len));
      buffer.iov_base = static_cast<std::byte*>(buffer.iov_base) + part;
      buffer.iov_len -= static_cast<size_t>(part);
      moved -= part;
      if (buffer.iov_len == 0) ++first;
    }
  }
};

// Takes the next run out of the pieces; false when there is none left.
class Gatherer {
 public:
  explicit Gatherer(std::span<const IoPiece> pieces) : pieces_(pieces) {}

  bool next(Run& run) {
    run.bytes = 0;
    run.first = run.count = 0;
    for (; index_ < pieces_.size(); ++index_, taken_ = 0) {
      const IoPiece& piece = pieces_[index_];
      if (piece.bytes == taken_) continue;
      if (run.count == 0) run.offset = piece.offset + taken_;
      if (piece.offset + taken_ != run.offset + run.bytes || run.bytes == kMaxCallBytes) return true;
      const i64 take = std::min(piece.bytes - taken_, kMaxCallBytes - run.bytes);
      if (!run.append(piece, taken_, take)) return true;
      taken_ += take;
      if (taken_ < piece.bytes) return true;
    }
    return run.bytes > 0;
  }

 private:
  std::span<const IoPiece> pieces_;
  size_t index_ = 0;
  i64 taken_ = 0;  // bytes of pieces_[index_] that went into earlier runs
};

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

// Moves the run; the value is what was moved, less than run.bytes only at end of file.
Result<i64> move_run(int fd, Direction direction, Run& run) {
  const bool reading = direction == Direction::kRead;
  i64 total = 0;
  while (run.bytes > 0) {
    const ssize_t moved = call_once(fd, direction, run);
    if (moved < 0) {
      if (errno == EINTR) continue;
      return error_from_errno(reading ? "pread" : "pwrite", errno, run.offset, run.bytes);
    }
    if (moved == 0) {
      if (reading) break;
      return error_from_errno("pwrite wrote nothing", EIO, run.offset, run.bytes);
    }
    total += moved;
    run.advance(moved);
  }
  return total;
}

Status check(std::span<const IoPiece> pieces) {
  for (const IoPiece& piece : pieces) {
    if (piece.bytes < 0 || piece.offset < 0 || piece.offset > std::numeric_limits<i64>::max() - piece.bytes)
      return Error{ErrorClass::kArg, "a transfer outside of what a file can hold", EINVAL, piece.offset, piece.bytes};
  }
  return ok_status();
}

}  // namespace

Result<i64> transfer(int fd, Direction direction, std::span<const IoPiece> pieces) {
  MERCUTIO_TRY(check(pieces));
  Gatherer gatherer(pieces);
  Run run;
  i64 total = 0;
  while (gatherer.next(run)) {
    const i64 wanted = run.bytes;
    MERCUTIO_LET(const i64 moved, move_run(fd, direction, run));
    total += moved;
    if (moved < wanted) break;
  }
  return total;
}

}  // namespace mercutio::posix
