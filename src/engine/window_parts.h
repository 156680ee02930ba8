// The parts of an access in the windows of a domain. Inside engine/ only.
#pragma once

#include "engine/peer_access.h"
#include "plan/plan.h"

namespace mercutio {

// A window, by number, and the stream range of one rank's access in it.
struct WindowPart {
  i64 window = 0;
  i64 begin = 0, end = 0;
  bool empty() const { return begin >= end; }
};

// The first window from `from` on in which the access of `rank` has bytes. An empty part of window plan.windows(domain): there is
// none. Windows without bytes between two pieces are skipped: O(log windows + log pieces), and the same again for each piece in
// between that lies only in other domains.
WindowPart next_part(const Plan& plan, i64 domain, i64 rank, const PeerAccess& access, i64 from);

}  // namespace mercutio
