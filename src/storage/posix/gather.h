// Turns pieces into system calls: each call moves a run that is contiguous in the file, from or to several buffers. Allocates
// nothing and copies no data.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <span>

#include "storage/storage.h"

namespace mercutio::posix {

inline constexpr i64 kMaxCallBytes = 1024 * MiB;  // Linux moves at most 2^31 - 4096 bytes in one call
inline constexpr size_t kMaxBuffers = 1024;       // IOV_MAX of Linux

struct Run {
  i64 offset = 0;
  i64 bytes = 0;
  size_t first = 0;  // first buffer that is not moved yet
  size_t count = 0;  // one past the last buffer
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

// Splits pieces into runs. next() returns false after the last one.
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
  i64 taken_ = 0;  // bytes of pieces_[index_] in earlier runs
};

// Moves the run. Returns the bytes moved, less than run.bytes only at end of file.
Result<i64> move_run(int fd, Direction direction, Run& run);

// Fails if a piece has a negative offset or length, or ends beyond the maximum file size.
Status check_pieces(std::span<const IoPiece> pieces);

}  // namespace mercutio::posix
