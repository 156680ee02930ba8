// Findings: what slows a job's I/O down, and what to do about it. They are the results of the rules (rules.h), summed over the files
// with the same fault.
#pragma once

#include <string>
#include <vector>

#include "insight/job.h"

namespace mercutio {

// One of several.
struct Remedy {
  std::string text;    // a line to paste, or what to change
  double seconds = 0;  // that it would save
  double factor = 1;   // by which the job would be faster
  bool at_most = false;  // as far as other ranks wait for it, which calls of MPI-IO do not show (Held in costs.h)
};

struct Finding {
  std::string id;  // of its rule
  std::string title;
  std::string file;   // or the pattern of the names, or the names of what was most expensive
  std::string file_system, library;  // of these files
  i64 files = 1;      // with this fault
  std::vector<std::pair<std::string, double>> worst;  // of several files the most expensive: name, and how long they held a rank
  double seconds = 0;    // that the best remedy would save
  double factor = 1;     // by which the job would be faster
  bool at_most = false;  // as of that remedy
  bool worth = true;     // reported: without it the job would be faster, or it is of a kind without a cost
  std::string evidence;  // its figures
  std::vector<Remedy> remedies;  // best first; none that would make the job slower, nor one that gains nothing beside one that does
};

// A factor that is printed as 1 is no gain.
inline constexpr double kLeastGain = 1.05;
inline constexpr double kLeastUnsureGain = 1.25;   // of what may as well be nothing (at_most)
inline bool gains(double factor, bool at_most = false) { return factor >= (at_most ? kLeastUnsureGain : kLeastGain); }
// If I/O takes at most this part of the run on every rank, there is nothing to gain.
inline constexpr double kLittleIo = 0.05;
// The part of the run spent in I/O: the maximum over the ranks.
double io_share(const Job& job);

// All findings, the most expensive first.
std::vector<Finding> all_findings(const Job& job);
// The findings that are worth reporting.
std::vector<Finding> find_causes(const Job& job);

// The one line that there is to say of a job that has opened no file; empty: it has, or has tried to, or its end is not known.
std::string no_files(const Job& job);
// The verdict for people, at most twenty lines.
std::string verdict(const Job& job);
// Opens that failed, of the rank where most did: the time that they took, and why the first one failed, with its file.
struct FailedOpens {
  i64 opens = 0;
  double seconds = 0;
  std::string first;
};
FailedOpens failed_opens(const Job& job);

// A box of counts for each file, in the manner of MPICH_MPIIO_STATS (HPE Cray MPI).
std::string file_counts(const Job& job);

// "1.5 GiB", "230 MB/s", "12.3 s" for the texts above.
std::string bytes_text(double bytes);
std::string rate_text(double bytes_per_second);
std::string seconds_text(double seconds);

}  // namespace mercutio
