// Families: files that are analysed as one, because their names differ only in numbers, or because they belong together otherwise.
#pragma once

#include "insight/job.h"

namespace mercutio {

// Merges files into one: totals are summed for each rank, as if accesses had followed each other in time; texts are those of all
// files; everything else is that of the first. `members` refers to the files, which must live as long as the result.
JobFile merge_files(const std::vector<const JobFile*>& files);

// All files of a job, grouped by the pattern of their names, the most expensive family first.
std::vector<JobFile> families_of(const Job& job);

}  // namespace mercutio
