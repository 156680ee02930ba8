// Which NUMA domain this process is bound to. Asked once a communicator; on a machine with one domain one system call.
#pragma once

#include "base/types.h"

namespace mercutio {

// -1: the process may run in several. 0 where there is one only.
i64 numa_domain();

// Lets the calling thread run on all processors of its domain that the system grants the process, wherever the launcher has
// bound it: a rank bound to one core leaves none for what goes on beside it.
void spread_over_domain();

}  // namespace mercutio
