// Families: files that are analysed as one, because their names differ only in numbers, or because they belong together otherwise.
#pragma once

#include "insight/job.h"

namespace mercutio {

// Merges files into one: totals are summed for each rank, as if accesses had followed each other in time, as far as the program was held
// (FileTotals::as_held); texts are those of all files; everything else is that of the first. `members` refers to the files, which must live as long as the result.
JobFile merge_files(const std::vector<const JobFile*>& files);

// The family with all its totals multiplied by `times`.
JobFile times_as_many(JobFile family, double times);

// All files of a job, grouped by the pattern of their names, the most expensive family first.
std::vector<JobFile> families_of(const Job& job);

// Files of a family that the same ranks open together: in collective calls on them each of these may wait for each other, and for nobody else.
// `known`: that is so; else other ranks opened each of these files, which only have a pattern of their names in common.
struct MeetingRanks {
  JobFile files;
  bool known = true;
};
bool has_met(const FileTotals& one);
std::vector<MeetingRanks> meetings_of(const JobFile& family);

}  // namespace mercutio
