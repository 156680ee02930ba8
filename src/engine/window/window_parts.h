// The part of one rank in a collective access, and its parts in the windows of a domain. Inside engine/ only.
#pragma once

#include "model/access.h"
#include "plan/plan.h"

namespace mercutio {

// The data that one rank moves: the stream range [begin, end) of its view, which lies in the file range [first, last).
struct RankAccess {
  const View* view = nullptr;       // null: the rank has no data here
  i64 begin = 0, end = 0;
  i64 first = 0, last = 0;
  const Memory* memory = nullptr;   // of the stream range, from its begin on
  Direction direction = Direction::kRead;

  Cursor memory_at(i64 position) const {   // of the stream
    Cursor at = memory->cursor();
    at.seek(position - begin);
    return at;
  }
};

// A window, by number, and the stream range of one rank's access in it.
struct WindowPart {
  i64 window = 0;
  i64 begin = 0, end = 0;
  bool empty() const { return begin >= end; }
};

// The first window from `from` on in which the access of `rank` has bytes. An empty part of window plan.windows(domain): there is
// none. Windows without bytes between two pieces are skipped: O(log windows + log pieces), and the same again for each piece in
// between that lies only in other domains.
WindowPart next_part(const Plan& plan, i64 domain, i64 rank, const RankAccess& access, i64 from);

}  // namespace mercutio
