// Ends the servers of a connection, by a request that whoever has the key may make.
#pragma once

#include "remote/connection_file.h"

namespace mercutio::remote {

// All at the same time. How many other programs used them; EBUSY: some do, and `even_if_used` is not set. Servers that are gone
// already count as ended.
Result<i64> end_servers(const Connection& connection, bool even_if_used);

}  // namespace mercutio::remote
