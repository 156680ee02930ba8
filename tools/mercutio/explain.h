// `mercutio explain`: the plan of a collective access on a machine that need not be at hand, or those
// of a recorded run, and why it is that plan.
#pragma once

#include <string>

#include "launcher.h"

namespace mercutio::tool {

struct ExplainOptions {
  std::string machine_file, pattern_file;
  std::string trace_file;  // instead of both: the plans of a run
  Words hints;         // key=value
  bool ranks = false;  // also what each aggregator and rank does
};

// 0, or 1 with a word on stderr when a file or a hint can't be used. Prints to stdout.
int explain(const ExplainOptions& options);

}  // namespace mercutio::tool
