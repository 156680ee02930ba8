// A storage as slow as told: a stand-in for servers that aren't there.
#pragma once

#include <memory>

#include "storage/storage.h"

namespace mercutio {

struct ThrottleSpeed {
  i64 bytes_per_second = 0;  // 0: no limit
  i64 latency_ns = 0;        // of each read or write, on top
};

// A started transfer is slow too, but doesn't hold up who starts it.
std::unique_ptr<Storage> make_throttled(std::unique_ptr<Storage> inner, const ThrottleSpeed& speed);

}  // namespace mercutio
