// Asks the servers of connections, and ends them, by requests that whoever has the key may make. All servers at the same time.
#pragma once

#include <functional>

#include "remote/connection_file.h"

namespace mercutio::remote {

// Each of `count` once, by several threads. What `work` throws is its own loss.
void each_at_once(size_t count, const std::function<void(size_t)>& work);

// How many other programs used them. EBUSY: some do, `even_if_used` is not set, and all servers go on. Servers that are gone already
// count as ended.
Result<i64> end_servers(const Connection& connection, bool even_if_used);

}  // namespace mercutio::remote
