// The format of a node stream, between the leader of a node and an aggregator on another node. Window by window it says
// which bytes are valid and, when writing, carries them in file order. Inside engine/ only.
//
// Windows with few bytes travel together in a parcel, which is announced like a window: it holds for each of them a header, the run list and,
// when writing, the bytes. When reading, one message answers it.
//
// A window is announced by a header; one whose bytes are one run, or runs of one length at one distance, needs nothing else to say
// which. Otherwise a list of runs follows, or a bit for each unit, whichever is shorter; or, where both ends keep it (engine/run_list_cache.h), nothing.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "engine/pieces.h"
#include "engine/window_buffer.h"
#include "engine/window_parts.h"

namespace mercutio {

struct StreamHeader {
  i64 window = 0;        // all before it are finished or announced; the number of windows: that is all
  i64 bytes = 0;         // 0: the window isn't announced yet
  i64 first = 0;         // in the window, where it is one run; of a parcel of requests: bytes of the answer
  i64 list_bytes = 0;    // that follow
  i64 runs = 0;          // listed; 0: a bit for each unit
  i64 stride = 0;        // from one run to the next, where all have the same length and distance; 0: they are listed
  i64 cache_index = -1;   // of the run list in what both ends keep, where it goes if it follows; -1: it isn't kept
  i64 parcel = 0;        // 1: not a window but a parcel of `bytes` bytes, whose first window this is; 2: no window follows it

  bool one_run() const { return list_bytes == 0 && cache_index < 0 && stride == 0; }
};

struct StreamRun {
  std::uint32_t at = 0, bytes = 0;
};
static_assert(std::is_trivially_copyable_v<StreamRun> && sizeof(StreamRun) == 8);   // a run list is an array of them

// Says which bytes of the slot are valid, or which the part of one rank's access has. Sets `run_list` unless the header says it all.
StreamHeader describe(const WindowBuffer& buffer, i64 window, std::vector<std::byte>& run_list);
StreamHeader describe(const WindowBuffer& buffer, const WindowPart& part, const PeerAccess& access, std::vector<std::byte>& run_list);

// Whether a window travels in a parcel with others.
inline bool fits_parcel(const Plan& plan, const StreamHeader& header) {
  constexpr i64 kStraightBytes = 16 * KiB;   // a run from here on goes from window to window without copies
  const i64 most = header.one_run() ? std::min(plan.parcel_bytes / 4, kStraightBytes) : plan.parcel_bytes / 4;
  return header.bytes + header.list_bytes + static_cast<i64>(sizeof header) <= most;
}

// Checks a header before memory is allocated for what it announces.
Status check(const WindowBuffer& buffer, const StreamHeader& header);

// The runs of an announced window. A malformed header or run list is an Error, so that no byte outside of the window is
// touched.
Result<std::vector<StreamRun>> runs_of(const WindowBuffer& buffer, const StreamHeader& header, ConstBytes run_list);

// `packed` may be the window itself if the runs ascend.
void pack_runs(const std::vector<StreamRun>& runs, const std::byte* window, std::byte* packed);
void unpack_runs(const std::vector<StreamRun>& runs, const std::byte* packed, std::byte* window);
void set_valid(const WindowBuffer& buffer, i64 window, const std::vector<StreamRun>& runs);

}  // namespace mercutio
