// What goes between the node buffer of a domain on one node and the aggregator on another: window by window, which bytes are
// meant and, when writing, the bytes, those of all ranks of the node as one stream in file order. Inside engine/ only.
//
// A window is announced by a header; one whose bytes are one run needs nothing else to say which. Otherwise a list of runs
// follows, or a bit for each unit, whichever is shorter; or, where both ends keep it (engine/run_list_cache.h), nothing.
#pragma once

#include <type_traits>
#include <vector>

#include "engine/pieces.h"
#include "engine/window_buffer.h"

namespace mercutio {

struct StreamHeader {
  i64 window = 0;        // all before it are finished; the number of windows: that is all
  i64 bytes = 0;
  i64 first = 0;         // in the window, where it is one run
  i64 list_bytes = 0;    // that follow
  i64 runs = 0;          // listed; 0: a bit for each unit
  i64 cache_index = -1;   // of the run list in what both ends keep, where it goes if it follows; -1: it isn't kept

  bool one_run() const { return list_bytes == 0 && cache_index < 0; }
};

struct StreamRun {
  std::uint32_t at = 0, bytes = 0;
};
static_assert(std::is_trivially_copyable_v<StreamRun> && sizeof(StreamRun) == 8);   // a run list lists them as they are

// Says which bytes of the slot are valid. Appends to `run_list` unless it is one run.
StreamHeader describe(const WindowBuffer& buffer, i64 window, std::vector<std::byte>& run_list);

// Whether a header can be meant so, before memory is taken for what it announces.
Status check(const WindowBuffer& buffer, const StreamHeader& header);

// The runs of an announced window. A header or run list that can't be meant so is an Error: nothing is touched outside the
// window.
Result<std::vector<StreamRun>> runs_of(const WindowBuffer& buffer, const StreamHeader& header, ConstBytes run_list);

// `packed` may be the window itself, if the runs are in order.
void pack_runs(const std::vector<StreamRun>& runs, const std::byte* window, std::byte* packed);
void unpack_runs(const std::vector<StreamRun>& runs, const std::byte* packed, std::byte* window);
void set_valid(const WindowBuffer& buffer, i64 window, const std::vector<StreamRun>& runs);

}  // namespace mercutio
