// Findings: what slows a job's I/O down, and what to do about it. One table of rules (findings.def); each looks at one
// file of a job and says how many seconds of the job the thing costs, if it is there at all. The ideas and several
// thresholds are those of Drishti (Bez et al., 2022), on counters only the MPI-IO layer has.
#pragma once

#include <string>
#include <vector>

#include "insight/job.h"

namespace mercutio {

struct Finding {
  std::string id;  // of its rule
  std::string title;
  std::string file;
  double seconds = 0;    // of the job that would be saved
  double factor = 1;     // the job would be so many times faster
  bool worth = true;     // saying: it costs a hundredth of the job, or costs nothing by its nature
  std::string evidence;  // the numbers behind it
  std::string remedy;    // a line to paste, or what to change
};

// All that is there, the most expensive first.
std::vector<Finding> all_findings(const Job& job);
// Those worth saying.
std::vector<Finding> find_causes(const Job& job);

// At most twenty lines for people.
std::string verdict(const Job& job);

// "1.5 GiB", "12.3 s" for the texts above.
std::string bytes_text(double bytes);
std::string seconds_text(double seconds);

}  // namespace mercutio
