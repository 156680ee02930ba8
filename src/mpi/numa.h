// The NUMA domain to which this process is bound. Determined once per communicator; on a machine with one domain it costs one
// system call.
#pragma once

#include "base/types.h"

namespace mercutio {

// -1: the process may run on several domains. 0 if there is only one.
i64 numa_domain();

// Allows the calling thread to run on all processors of its domain that the system grants to the process, whatever the launcher has
// bound it to. A rank bound to one core would leave no core for its other threads.
void spread_over_domain();

}  // namespace mercutio
