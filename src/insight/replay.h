// From a trace to a script for tools/replay, a plain MPI-IO program that repeats what the ranks did to their files, without
// the application. The script ends where the calls of some rank end in the trace, for all ranks together: a collective call
// is in it for every rank that took part, or for none. Cost: O(calls) a pass; one pass where nothing is missing.
#pragma once

#include <string>
#include <vector>

#include "insight/job.h"

namespace mercutio {

struct ReplayFile {
  std::string name;         // as the program gave it
  i64 needed_bytes = -1;    // what must be there before; -1: the program creates the file
  std::string file_system;  // "" unknown
};

struct Replay {
  i64 ranks = 0, calls = 0;
  std::vector<ReplayFile> files;
  std::string missing;  // what of the run isn't in the script, and why; "": nothing
  std::string head, body;
  std::vector<i64> starts;  // in `body`: of each rank's part
};

// The Error says why nothing can be repeated.
Result<Replay> make_replay(const Job& job);
// With the files under other names, one for each of replay.files.
std::string script_of(const Replay& replay, const std::vector<std::string>& names);

// The same for runs that accessed their files in the same way: of what the ranks did, without times and directories. 16 hex
// digits; "" where the trace has no calls.
std::string pattern_hash(const Job& job);

}  // namespace mercutio
