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

// The first window from `from` on in which the access of `rank` has bytes; an empty part of window plan.windows(domain)
// if there is none. Windows without bytes between two pieces are not visited: O(log windows + log pieces), and as much
// again for each piece in between that is in other domains only.
WindowPart next_part(const Plan& plan, i64 domain, i64 rank, const PeerAccess& access, i64 from);

}  // namespace mercutio
