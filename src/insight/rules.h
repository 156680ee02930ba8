// Rules: each looks at a file, or at several whose names are alike as one (families.h), and says what it sees and which remedies there
// are, with the seconds of the job that each would save. Their names are in findings.def. The ideas and several thresholds are those
// of Drishti (Bez et al., 2022), on counters only the MPI-IO layer has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "insight/job.h"

namespace mercutio {

struct Option {
  std::string text;
  double saved = 0;  // seconds; below 0: the job would take longer
};

struct Looked {
  std::string evidence;
  std::vector<Option> options;
};

using Look = std::optional<Looked>(const Job&, const JobFile&);
using Applies = bool(const JobFile&);

struct Rule {
  const char* id;
  const char* title;
  Look* look;
  Applies* applies;  // of several files, those to look at; null: all of them
  bool whatever_it_costs;
};

std::vector<Rule> rules();

}  // namespace mercutio
