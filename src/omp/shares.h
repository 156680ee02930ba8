// Who moves which bytes of a collective call: a pure function of the requests, the same on all threads.
//
// All parts of all threads, one behind the other, are a sequence of bytes. A thread's share is
// - its own part of the sequence, ordinarily;
// - an equal part of it, cut where stripes or blocks of the file begin, if the arguments are common, or if one thread
// has so much
//   more than the others that they would wait for it;
// - an equal range of the file, if the threads' lists have small parts, ascend, and interleave: the parts of all
// threads, merged,
//   are then moved in contiguous runs, by gathering system calls, out of and into the buffers of any thread (two-phase
//   I/O without its first phase, as threads share their memory).
// Nothing is copied, sorted or allocated. Cost: one look at each request; for common lists with offsets a pass over the
// lengths; a merge of T lists compares T offsets a part.
#pragma once

#include <span>

#include "omp/request.h"
#include "storage/storage.h"

namespace mercutio::omp {

struct Access {
  std::span<const Request* const> requests;  // of each thread; only the first if common
  i64 threads = 1;
  i64 pointer = 0;     // where the sequence is in the file, without explicit offsets
  i64 unit_bytes = 1;  // shares are cut at multiples of it in the file
};

enum class ShareOf { kSequence, kFile };

struct Share {
  ShareOf of = ShareOf::kSequence;
  i64 begin = 0;
  i64 end = 0;

  bool operator==(const Share&) const = default;
};

inline constexpr i64 kWorthSharingBytes = MiB;     // what a thread has above the mean before others help it
inline constexpr i64 kSmallPartBytes = 256 * KiB;  // parts below are worth merging with their neighbours in the file

Share share_of(const Access& access, i64 thread);

// Where a merge stands in one thread's list.
struct MergeCursor {
  i64 index = 0;
  i64 offset = 0;  // of what is left of the part
  i64 end = 0;     // of it, within the share
};

class PieceSink {
 public:
  virtual ~PieceSink() = default;
  virtual Status take(size_t request, const IoPiece& piece) = 0;  // which thread's data it is, and where they go
};

// Hands the pieces of a share to the sink, in the order of the sequence or of the file; pieces are never empty.
// `cursors` has room for one for each request.
Status walk(const Access& access, const Share& share, std::span<MergeCursor> cursors, PieceSink& sink);

}  // namespace mercutio::omp
