// What a job writes at its end: a trace or a report, under the name that was asked for, whatever that is.
#pragma once

#include <string>

#include "base/result.h"
#include "base/types.h"

namespace mercutio {

// Whether this is a file, or none yet: no device, no pipe, and nothing that a process has open (/dev/stdout).
bool is_plain_file(const std::string& path);

// A file appears as a whole, or what was there stays; behind symbolic links, which stay, too. To all else the bytes are written as they are,
// and never for long.
Status write_output(const std::string& path, ConstBytes data);

}  // namespace mercutio
