// A storage with a given bandwidth and latency, in place of real servers.
#pragma once

#include <memory>

#include "storage/storage.h"

namespace mercutio {

struct ThrottleSpeed {
  i64 bytes_per_second = 0;  // 0: no limit
  i64 latency_ns = 0;        // added to each read or write
};

// A started transfer is equally slow, but its start returns at once.
std::unique_ptr<Storage> make_throttled(std::unique_ptr<Storage> inner, const ThrottleSpeed& speed);

}  // namespace mercutio
