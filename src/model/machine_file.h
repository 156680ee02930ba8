// A machine as a file tells it: which rank sits where, what links and memory can do, how a file lies on its servers. For
// tests and for `mercutio explain`, on machines that are not at hand. The keys: docs/engineers/planning.md.
#pragma once

#include <string>

#include "base/result.h"
#include "model/layout.h"
#include "model/topology.h"

namespace mercutio {

struct Machine {
  Topology topology;
  Layout layout;
  bool operator==(const Machine&) const = default;
};

Result<Machine> parse_machine(const std::string& text);

}  // namespace mercutio
