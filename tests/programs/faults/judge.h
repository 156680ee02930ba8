#pragma once

#include "faults/fault.h"
#include "faults/record.h"

namespace mercutio::programs {

// What is wrong with a run that has come to its end; `met`: the fault was.
[[nodiscard]] std::vector<Finding> judge(const Program& program, const std::vector<Planned>& planned, const Record& record, const Fault& fault,
                                         bool met);

}  // namespace mercutio::programs
