// Where options end and a program begins on a launcher's command line. Cost: the length of the line.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launcher.h"

namespace mercutio::tool {

// An option, in any way to write it: --np 4, -np 4, --np=4 and, of one letter, -n4.
struct Option {
  std::size_t at = 0, end = 0;    // its words
  std::string name;               // without dashes
  std::size_t value_at = 0;       // the word that its value is in, or begins with; 0: it has none
  std::size_t value_from = 0;     // where in that word
  bool is_pair() const { return end - at == 3; }   // of a name and its value: -mca NAME VALUE
};

std::string value_of(const Words& words, const Option& option);   // "" without one
void set_value(Words& words, const Option& option, const std::string& value);

// One application context: the words after the launcher or a ":", up to the next one.
struct Context {
  std::size_t from = 0, program = 0, to = 0;   // the launcher's own words, then the program with its arguments
  std::vector<Option> options;
};

// Of a line whose word at `at` is env, timeout or the like: the index of the command that it starts, which may be another one of them;
// size(): there is none. Words that are no wrapper's name: `at` itself.
std::size_t behind_wrapper(const Words& words, std::size_t at);

std::vector<Context> contexts_of(LauncherKind kind, const Words& words, int at);

}  // namespace mercutio::tool
