// Rules: each checks a file, or a family of files (families.h), for one fault. It returns the evidence and the remedies, with the
// seconds that each would save. The rules' names are in findings.def. The ideas and several thresholds are those of Drishti (Bez et
// al., 2022), applied to counters that only the MPI-IO layer has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "insight/job.h"

namespace mercutio {

struct Option {
  std::string text;
  double saved = 0;  // seconds; below 0: the job would take longer
  bool at_most = false;  // as in Held (costs.h)
};

struct Detection {
  std::string evidence;
  std::vector<Option> options;
  i64 rank = -1;  // that is to blame; what is said of several families is one finding only where that is the same
};

using Detect = std::optional<Detection>(const Job&, const JobFile&);
using Applies = bool(const JobFile&);

struct Rule {
  const char* id;
  const char* title;
  Detect* detect;
  Applies* applies;  // selects files of a family; null: all
  bool whatever_it_costs;
  bool beyond_io;    // what it costs is more than I/O: what a rank computes while others wait, or sends before one of them writes
};

std::vector<Rule> rules();

}  // namespace mercutio
