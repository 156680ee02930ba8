// CoreTime: how long a thread ran and how long it was ready to run but had no core, as the kernel's scheduler counts it
// (/proc/thread-self/schedstat). With more processes than cores, the second shows how long the thread was starved.
#pragma once

#include <string>

#include "base/types.h"

namespace mercutio {

struct CoreTime {
  i64 ran_ns = 0;
  i64 queued_ns = 0;
  i64 turns = 0;  // time slices on a core
  bool operator==(const CoreTime&) const = default;
  CoreTime since(const CoreTime& earlier) const;
};

// Zeros if the kernel has no schedstat.
CoreTime core_time_in(const std::string& schedstat);
CoreTime core_time_of_this_thread();

}  // namespace mercutio
