// Records of jobs, read back: lines of JSON that job_line() wrote, maybe by another version, or anything else.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace mercutio {

struct RecordedFinding {
  std::string id, file, file_system;
  double seconds = 0, factor = 1;
  bool at_most = false;  // the other ranks are not seen to wait for it
};

struct RecordedFiles {
  std::string name, file_system, library;
  i64 files = 0, read = 0, written = 0;
  double seconds = 0;
};

struct RecordedJob {
  std::string job, user, program;
  i64 uid = -1, start = 0, ranks = 0, nodes = 0, read = 0, written = 0, file_count = 0;
  i64 ranks_known = 0;  // of which it has the I/O; 0: of all
  double seconds = 0, io_seconds = 0, io_share = 0;
  std::vector<RecordedFinding> findings;
  std::vector<RecordedFiles> files;
};

// Nothing where the line is no record, or holds what can't be. Keys that are not known are passed over.
std::optional<RecordedJob> parse_job_line(std::string_view line);

}  // namespace mercutio
