// The format of a node stream, between the leader of a node and an aggregator on another node. Window by window it says
// which bytes are valid and, when writing, carries them in file order. Inside engine/ only.
//
// A header announces a window. If the valid bytes are one run, the header describes them. Otherwise a run list or a bit
// for each unit follows, whichever is shorter, or nothing where both ends have cached it (engine/run_list_cache.h).
#pragma once

#include <type_traits>
#include <vector>

#include "engine/pieces.h"
#include "engine/window_buffer.h"

namespace mercutio {

struct StreamHeader {
  i64 window = 0;        // all before it are finished; the number of windows: end of the stream
  i64 bytes = 0;
  i64 first = 0;         // offset in the window, for a single run
  i64 list_bytes = 0;    // of the run list that follows
  i64 runs = 0;          // in the list; 0: it is a bit for each unit
  i64 cache_index = -1;   // index in both ends' caches, also of a list that follows; -1: not cached

  bool one_run() const { return list_bytes == 0 && cache_index < 0; }
};

struct StreamRun {
  std::uint32_t at = 0, bytes = 0;
};
static_assert(std::is_trivially_copyable_v<StreamRun> && sizeof(StreamRun) == 8);   // a run list is an array of them

// Describes the valid bytes of the slot. Appends to `run_list` unless they are one run.
StreamHeader describe(const WindowBuffer& buffer, i64 window, std::vector<std::byte>& run_list);

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
