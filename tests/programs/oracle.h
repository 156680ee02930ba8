// What the standard says must come of a legal program (MPI-4.1, 14.6.1): for each byte of each file which write is to
// be found there, as far as that is determined, and from it buffers, counts, sizes and positions.
//
// Time is the number of a step. What a rank has done is known to another one after a barrier (a vector clock). A write
// is visible to an access that comes later
//   - on the same handle of the same process (program order),
//   - in atomic mode, to handles of the same open, in order of the clock,
//   - after the writer's sync or close, then the reader's sync or open, in order of the clock,
//   - with `posix_order`, in order of the clock within a job.
// A byte whose writes are not ordered so is undetermined, until a write comes that is ordered after all of them.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "program.h"

namespace mercutio::programs {

// A byte as it must be: byte `source` of what `key` writes (program.h), 0 for key 0, anything for kAnything.
struct Want {
  std::uint32_t key = 0, source = 0;
};
inline constexpr std::uint32_t kAnything = 0xFFFFFFFFU;

// What must come of one rank's part in a step.
struct Expected {
  bool in = false;          // the call is made
  i64 bytes = 0;            // access: asked for
  i64 least = 0, most = 0;  // access: bytes in the status; get_size: the size; get_position: least only, -1: anything
  std::vector<Want> data;   // read: the bytes in the order of the stream; verify: the file
  i64 first_etype = -1;     // access: where it begins, for messages
};

struct Planned {
  bool dropped = false;  // its place is not determined: it is not called
  std::array<Expected, kMaxRanks> ranks;
  i64 asked_bytes = 0;  // meter_end: what all ranks have read since meter_begin
};

// What came of a call.
enum class Came { kDone, kFailed, kNotMade };

// A run in which calls failed. What a failed write was to change may be old, new, or neither; ranks know nothing of a call
// that failed on them. Accesses are where the plan without failures has them.
struct Story {
  const std::vector<Planned>* planned = nullptr;
  std::vector<std::array<Came, kMaxRanks>> came;  // of each step
  bool over = true;                               // what failed is over, too; false: it may reach the file later
};

// The plan of each step. Data is there for the reads of `rank` only; -1: of all ranks.
[[nodiscard]] std::vector<Planned> plan(const Program& program, int rank);
[[nodiscard]] std::vector<Planned> plan(const Program& program, const Story& story);

[[nodiscard]] inline std::uint8_t value_of(const Want& want) {
  return want.key == 0 ? 0 : pattern(want.key, want.source);
}

}  // namespace mercutio::programs
