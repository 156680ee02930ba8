// What a job writes at its end: a trace or a report, under the name that was asked for, whatever that is.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/types.h"

namespace mercutio {

inline constexpr std::string_view kTraceSuffix = ".mtrace";

// Whether this is a file, or none yet: no device, no pipe, and nothing that a process has open (/dev/stdout).
bool is_plain_file(const std::string& path);

// A file appears as a whole, behind symbolic links, which stay. It replaces an older one. What another job has written there since `begun_ns`,
// by the clock of file timestamps, stays: then this one's name gets a number, app.2.mtrace, and is returned; otherwise "". To all that is no
// file the bytes are written as they are, and never for long.
Result<std::string> write_output(const std::string& path, i64 begun_ns, ConstBytes data);
std::string numbered(const std::string& path, int number);   // from 1; beyond some they are random
inline constexpr i64 kNothingIsOlder = 0;   // begun_ns with which nothing is replaced
i64 clock_of_files();

}  // namespace mercutio
