// Logs of Darshan as traces of a job, so that all that is said of traces is said of them. PyDarshan reads them (tools/report/darshan_log.py).
#pragma once

#include <string>
#include <vector>

#include "insight/job.h"

namespace mercutio::tool {

bool is_darshan_log(const std::string& path);
Result<std::vector<RankTrace>> read_darshan_log(const std::string& path);

}  // namespace mercutio::tool
