#include "omp/shares.h"

#include <algorithm>
#include <limits>

namespace mercutio::omp {
namespace {

struct Totals {
  i64 bytes = 0;
  i64 largest = 0;
  i64 before = 0;  // position of this thread's data in the sequence
  i64 parts = 0;
  i64 lowest = std::numeric_limits<i64>::max();
  i64 highest = 0;
  double spans = 0;  // the sum of highest - lowest
  bool ascending = true;
};

Totals add_up(const Access& access, i64 thread) {
  Totals totals;
  for (size_t i = 0; i < access.requests.size(); ++i) {
    const Request& request = *access.requests[i];
    if (static_cast<i64>(i) < thread) totals.before += request.bytes;
    totals.bytes += request.bytes;
    totals.largest = std::max(totals.largest, request.bytes);
    totals.parts += request.count;
    totals.ascending = totals.ascending && request.ascending;
    if (request.bytes == 0) continue;
    totals.lowest = std::min(totals.lowest, request.lowest);
    totals.highest = std::max(totals.highest, request.highest);
    totals.spans += static_cast<double>(request.highest - request.lowest);
  }
  return totals;
}

// total * thread / threads without overflow.
i64 fraction(i64 total, i64 thread, i64 threads) {
  return total / threads * thread + total % threads * thread / threads;
}

// The last position of the sequence up to `target` at which the file offset is a multiple of the unit, but not before the part that
// contains `target`.
i64 cut_at_unit(const Access& access, i64 target) {
  if (!access.requests[0]->routine.explicit_offsets)
    return target - std::min((access.pointer + target) % access.unit_bytes, target);
  i64 at = 0;
  for (const Request* request : access.requests) {
    if (target >= at + request->bytes) {
      at += request->bytes;
      continue;
    }
    for (i64 i = 0; i < request->count; at += request->length(i), ++i) {
      if (target >= at + request->length(i)) continue;
      return target - std::min((request->offset(i) + target - at) % access.unit_bytes, target - at);
    }
  }
  return target;
}

i64 boundary(const Access& access, i64 total, i64 thread) {
  if (thread == 0) return 0;
  return thread == access.threads ? total : cut_at_unit(access, fraction(total, thread, access.threads));
}

// Whether several threads have small parts that together fill a range of the file.
bool interleave(const Access& access, const Totals& totals) {
  if (!access.requests[0]->routine.explicit_offsets || access.requests.size() < 2) return false;
  if (totals.bytes == 0 || !totals.ascending || totals.parts <= access.threads) return false;
  const double range = static_cast<double>(totals.highest - totals.lowest);
  return totals.bytes / totals.parts < kSmallPartBytes && static_cast<double>(totals.bytes) >= 0.5 * range &&
         totals.spans >= 1.5 * range;
}

i64 file_boundary(const Access& access, const Totals& totals, i64 thread) {
  if (thread == 0) return totals.lowest;
  if (thread == access.threads) return totals.highest;
  const i64 at = totals.lowest + fraction(totals.highest - totals.lowest, thread, access.threads);
  return std::max(totals.lowest, at - at % access.unit_bytes);
}

IoPiece piece_of(const Request& request, i64 index, i64 skip, IoPiece where) {
  where.data = static_cast<std::byte*>(request.part(index).iov_base) + skip;
  return where;
}

Status walk_sequence(const Access& access, const Share& share, PieceSink& sink) {
  i64 at = 0;  // position in the sequence of the part or of the request
  for (size_t r = 0; r < access.requests.size() && at < share.end; ++r) {
    const Request& request = *access.requests[r];
    if (at + request.bytes <= share.begin) {
      at += request.bytes;
      continue;
    }
    for (i64 i = 0; i < request.count && at < share.end; at += request.length(i), ++i) {
      const i64 skip = std::max<i64>(share.begin - at, 0), stop = std::min(share.end - at, request.length(i));
      if (skip >= stop) continue;
      const i64 offset = request.routine.explicit_offsets ? request.offset(i) : access.pointer + at;
      MERCUTIO_TRY(sink.take(r, piece_of(request, i, skip, {offset + skip, nullptr, stop - skip})));
    }
  }
  return ok_status();
}

// Moves the cursor to the next part with bytes in the share; at the end of the list, beyond every offset.
void seek_next(const Request& request, const Share& share, MergeCursor& cursor) {
  for (; cursor.index < request.count; ++cursor.index) {
    const i64 offset = request.offset(cursor.index);
    if (offset >= share.end) break;
    cursor.offset = std::max(offset, share.begin);
    cursor.end = std::min(offset + request.length(cursor.index), share.end);
    if (cursor.offset < cursor.end) return;
  }
  cursor.offset = std::numeric_limits<i64>::max();
}

// The first part that ends after `begin`. The lists are ascending.
i64 first_behind(const Request& request, i64 begin) {
  i64 low = 0, high = request.count;
  while (low < high) {
    const i64 middle = low + (high - low) / 2;
    if (request.offset(middle) + request.length(middle) > begin)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

Status walk_file(const Access& access, const Share& share, std::span<MergeCursor> cursors, PieceSink& sink) {
  const size_t count = access.requests.size();
  for (size_t r = 0; r < count; ++r) {
    cursors[r].index = first_behind(*access.requests[r], share.begin);
    seek_next(*access.requests[r], share, cursors[r]);
  }
  while (true) {
    size_t next = 0;
    for (size_t r = 1; r < count; ++r)
      if (cursors[r].offset < cursors[next].offset) next = r;
    MergeCursor& cursor = cursors[next];
    if (cursor.offset == std::numeric_limits<i64>::max()) return ok_status();
    const Request& request = *access.requests[next];
    const i64 skip = cursor.offset - request.offset(cursor.index);
    MERCUTIO_TRY(
        sink.take(next, piece_of(request, cursor.index, skip, {cursor.offset, nullptr, cursor.end - cursor.offset})));
    ++cursor.index;
    seek_next(request, share, cursor);
  }
}

}  // namespace

Share share_of(const Access& access, i64 thread) {
  const Totals totals = add_up(access, thread);
  if (interleave(access, totals))
    return {ShareOf::kFile, file_boundary(access, totals, thread), file_boundary(access, totals, thread + 1)};
  const bool common = access.requests[0]->routine.common;
  if (common || totals.largest - totals.bytes / access.threads >= kWorthSharingBytes)
    return {ShareOf::kSequence, boundary(access, totals.bytes, thread), boundary(access, totals.bytes, thread + 1)};
  return {ShareOf::kSequence, totals.before, totals.before + access.requests[static_cast<size_t>(thread)]->bytes};
}

Status walk(const Access& access, const Share& share, std::span<MergeCursor> cursors, PieceSink& sink) {
  return share.of == ShareOf::kFile ? walk_file(access, share, cursors, sink) : walk_sequence(access, share, sink);
}

}  // namespace mercutio::omp
