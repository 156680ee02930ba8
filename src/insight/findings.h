// Findings: what slows a job's I/O down, and what to do about it: what the rules (rules.h) see, summed over the files that have the
// same fault.
#pragma once

#include <string>
#include <vector>

#include "insight/job.h"

namespace mercutio {

// One of several.
struct Remedy {
  std::string text;    // a line to paste, or what to change
  double seconds = 0;  // of the job that it would save
  double factor = 1;   // the job would be this many times as fast
};

struct Finding {
  std::string id;  // of its rule
  std::string title;
  std::string file;   // or the pattern of the names, or the names of what was most expensive
  std::string file_system, library;  // of these files
  i64 files = 1;      // that have this fault
  std::vector<std::pair<std::string, double>> worst;  // of several files the most expensive: name, and how long they held a rank
  double seconds = 0;    // of the job that the best remedy would save
  double factor = 1;     // the job would be this many times as fast
  bool worth = true;     // saying: it costs a hundredth of the job, or costs nothing by its nature
  std::string evidence;  // the numbers behind it
  std::vector<Remedy> remedies;  // the best first; none that would make the job slower
};

// Where I/O holds no rank for longer than this part of the run, there is nothing to gain.
inline constexpr double kLittleIo = 0.05;
// The part of the run that I/O held the rank that it held longest.
double io_share(const Job& job);

// All that is there, the most expensive first.
std::vector<Finding> all_findings(const Job& job);
// Those worth saying.
std::vector<Finding> find_causes(const Job& job);

// At most twenty lines for people.
std::string verdict(const Job& job);

// For each file a box of its counts, in the manner of MPICH_MPIIO_STATS (HPE Cray MPI).
std::string file_counts(const Job& job);

// "1.5 GiB", "230 MB/s", "12.3 s" for the texts above.
std::string bytes_text(double bytes);
std::string rate_text(double bytes_per_second);
std::string seconds_text(double seconds);

}  // namespace mercutio
