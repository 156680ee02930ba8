// Files of traces by their first bytes, and what is said of files that hold none.
#pragma once

#include <string>
#include <vector>

#include "insight/job.h"

namespace mercutio::tool {

// "PATH's error; a trace is made by: ..." for a path from which no trace could be read. Never advises to write over a file that is there.
std::string no_trace(const std::string& path, const std::string& why);

// As read_trace; what the user should know of it is said on stderr.
Result<std::vector<RankTrace>> read_trace_file(const std::string& path);

// Why a trace or a report shouldn't be written to this path: a file with something else in it. Empty: it may.
std::string why_not_overwritten(const std::string& path, bool report);

}  // namespace mercutio::tool
