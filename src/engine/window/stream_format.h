// The format of a node stream between the leader of a node and an aggregator on another node. For each window it states which bytes
// are valid and, when writing, carries these bytes in file order. Inside engine/ only.
//
// A window is announced by a header. The header alone describes a window whose valid bytes are one run, or runs of equal length at
// equal distances. Otherwise a run list follows (engine/window/run_list.h). It is omitted if both ends have cached it
// (engine/window/run_list_cache.h).
//
// Windows with few bytes travel together in a parcel, which is announced like a window. It contains a header, the run list and,
// when writing, the bytes of each window. When reading, one message answers a parcel.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/io/pieces.h"
#include "engine/window/window_buffer.h"
#include "engine/window/window_parts.h"

namespace mercutio {

struct StreamHeader {
  i64 window = 0;        // all windows before it are finished or announced; the number of windows: end of the stream
  i64 bytes = 0;         // 0: the window is not announced yet
  i64 first = 0;         // offset of the first run in the window; parcel of requests: bytes of the reply
  i64 list_bytes = 0;    // bytes of the run list that follows
  i64 runs = 0;          // number of runs; not used if it is one
  i64 stride = 0;        // distance between runs, if all lengths and distances are equal; 0: they are listed
  i64 cache_index = -1;   // index of the run list in the cache, where it is stored if it follows; -1: it is not cached
  i64 parcel = 0;        // 1: a parcel of `bytes` bytes that begins with this window; 2: the same, and no window follows it; 0: a window

  bool one_run() const { return list_bytes == 0 && cache_index < 0 && stride == 0; }
};

struct StreamRun {
  std::uint32_t at = 0, bytes = 0;
};

// Describes the valid bytes of a slot, and appends them to `runs`, or the part of a rank's access. Sets `run_list` unless the header suffices.
StreamHeader describe(const WindowBuffer& buffer, i64 window, std::vector<std::byte>& run_list, std::vector<StreamRun>& runs);
StreamHeader describe(const WindowBuffer& buffer, const WindowPart& part, const RankAccess& access, std::vector<std::byte>& run_list);

// Whether a window is put into a parcel.
inline bool fits_parcel(const Plan& plan, const StreamHeader& header) {
  constexpr i64 kStraightBytes = 16 * KiB;   // runs of at least this length are sent from window to window without a copy
  const i64 most = header.one_run() ? std::min(plan.parcel_bytes / 4, kStraightBytes) : plan.parcel_bytes / 4;
  return header.bytes + header.list_bytes + static_cast<i64>(sizeof header) <= most;
}

// Checks a header before memory is allocated for what it announces.
Status check(const WindowBuffer& buffer, const StreamHeader& header);

// Decodes the runs of an announced window. A malformed header or run list is an Error, so no byte outside the window is accessed.
Result<std::vector<StreamRun>> runs_of(const WindowBuffer& buffer, const StreamHeader& header, ConstBytes run_list);

// `packed` may be the window itself if the runs are ascending.
void pack_runs(const std::vector<StreamRun>& runs, const std::byte* window, std::byte* packed);
void unpack_runs(const std::vector<StreamRun>& runs, const std::byte* packed, std::byte* window);
void set_valid(const WindowBuffer& buffer, i64 window, const std::vector<StreamRun>& runs);

}  // namespace mercutio
