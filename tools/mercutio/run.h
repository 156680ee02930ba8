// `mercutio run`: a command under the library, with the preload and all that the ranks read given to them by the launcher.
#pragma once

#include <string>

#include "launcher.h"

namespace mercutio::tool {

struct RunOptions {
  Words command;
  Words hints;         // key=value, for MERCUTIO_HINTS
  bool print = false;  // show the line, don't run it
  std::string report, trace;   // for MERCUTIO_REPORT and MERCUTIO_TRACE, where not empty
};

int run(const RunOptions& options);

// LD_PRELOAD (unless `library` is empty), every MERCUTIO_* variable, and those that have hints: Open MPI's daemons on other nodes
// pass on only what they are told.
Variables variables_for_ranks(const std::string& library, const Words& hints);

// What kind of launcher `command` has at `at`; -1: none.
LauncherKind launcher_kind(const Words& command, int at);

}  // namespace mercutio::tool
