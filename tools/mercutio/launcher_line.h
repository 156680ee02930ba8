// Where options end and a program begins on a launcher's command line. Cost: the length of the line.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "launcher.h"

namespace mercutio::tool {

// One application context: the words after the launcher or a ":", up to the next one.
struct Context {
  std::size_t from = 0, program = 0, to = 0;   // the launcher's own words, then the program with its arguments
  std::vector<std::size_t> options;            // where each option is
};

std::vector<Context> contexts_of(LauncherKind kind, const Words& words, int at);

// "--np" and "-np" are "np".
std::string_view name_of_option(std::string_view word);

}  // namespace mercutio::tool
