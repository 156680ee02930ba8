// Divides the bytes of a collective call among the threads: a pure function of the requests, the same on all threads.
//
// The parts of all threads, in thread order, are a sequence of bytes. The share of a thread is
// - normally its own part of the sequence;
// - an equal part of the sequence, cut at stripes or blocks of the file, if all threads have the same arguments, or if one thread has
//   so much more data than the others that they would wait for it;
// - an equal range of the file, if the threads' lists are ascending, interleave and have small parts. The merged parts of all threads
//   are then moved in contiguous runs by vectored system calls, from and to the buffers of any thread (two-phase I/O without the
//   first phase, as threads share their memory).
// Nothing is copied, sorted or allocated. Cost: one visit of each request; for common lists with offsets one pass over the lengths;
// merging T lists compares T offsets per part.
#pragma once

#include <span>

#include "omp/request.h"
#include "storage/storage.h"

namespace mercutio::omp {

struct Access {
  std::span<const Request* const> requests;  // of each thread; only the first one if all are equal
  i64 threads = 1;
  i64 pointer = 0;     // file offset of the sequence, without explicit offsets
  i64 unit_bytes = 1;  // shares begin and end at file offsets that are multiples of it
};

enum class ShareOf { kSequence, kFile };

struct Share {
  ShareOf of = ShareOf::kSequence;
  i64 begin = 0;
  i64 end = 0;

  bool operator==(const Share&) const = default;
};

inline constexpr i64 kWorthSharingBytes = MiB;     // minimum excess over the mean of a thread's data for others to move some of it
inline constexpr i64 kSmallPartBytes = 256 * KiB;  // smaller parts are merged with adjacent ones in the file

Share share_of(const Access& access, i64 thread);

// The position of a merge in one thread's list.
struct MergeCursor {
  i64 index = 0;
  i64 offset = 0;  // of the rest of the part
  i64 end = 0;     // of the part within the share
};

class PieceSink {
 public:
  virtual ~PieceSink() = default;
  virtual Status take(size_t request, const IoPiece& piece) = 0;  // request: the number of the thread that owns the data
};

// Passes the pieces of a share to the sink, in the order of the sequence or of the file. Pieces are never empty. `cursors` has one
// element per request.
Status walk(const Access& access, const Share& share, std::span<MergeCursor> cursors, PieceSink& sink);

}  // namespace mercutio::omp
