// How a file lies on its servers: round-robin stripes. stripe_bytes 0: unknown or not striped. And whether reading it is known
// to be no more than copying: it lies in memory, or the page cache held what was read of it before.
#pragma once

#include "base/types.h"

namespace mercutio {

struct Layout {
  i64 stripe_bytes = 0;
  i64 stripe_count = 0;
  i64 first_server = -1;
  i64 server_mb_per_s = 0;   // what one server can take; 0: unknown
  bool cached = false;
  bool operator==(const Layout&) const = default;
};

}  // namespace mercutio
