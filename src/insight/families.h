// Families: files whose names differ in their numbers only, or that else belong together, looked at as one file.
#pragma once

#include "insight/job.h"

namespace mercutio {

// As one file: totals are the sums of each rank, times of accesses as if they had followed each other; texts are those of all. What
// comes first gives it the rest. `members` are the files; they must live as long.
JobFile united(const std::vector<const JobFile*>& files);

// All files of a job, by the pattern of their names; the family that took longest first.
std::vector<JobFile> families_of(const Job& job);

}  // namespace mercutio
