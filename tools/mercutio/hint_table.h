// `mercutio hints`: the table of hints, one of them explained, those in effect for a file, a file of hints checked.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/hints.h"

namespace mercutio::tool {

struct HintsOptions {
  std::string name;                // explain this one
  std::string file;                // what would be in effect for it
  std::vector<std::string> info;   // key=value, as in the program's MPI_Info
  long long ranks = 0;             // of the job; 0: not said
  std::string program;             // that opens it; "": not said
  std::string check;               // a TOML file
};

// 1: no such hint, a mistake in the checked file; 2: wrong usage.
int hints(const HintsOptions& options);

// Applies hints to `set`, key=value each, or several with semicolons. 1, with a word on stderr: one of them can't be. `from`: where they are given.
int take_hints(const char* command, const std::string& from, const std::vector<std::string>& given, HintSet& set);

// Where a job of who asks would leave its record, with such a value of MERCUTIO_SITE.
Result<std::string> record_of_a_job(const std::string& pattern);

}  // namespace mercutio::tool
