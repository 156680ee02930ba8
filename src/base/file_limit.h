#pragma once

#include "base/types.h"

namespace mercutio {

// Whether this process may make a file that large ('ulimit -f'). A write beyond the limit ends the program with SIGXFSZ.
bool file_size_allowed(i64 bytes);

}  // namespace mercutio
