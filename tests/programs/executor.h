// Who runs a program: under an MPI (mpi_executor.h).
#pragma once

#include <vector>

#include "buffer.h"

namespace mercutio::programs {

class Executor {
 public:
  virtual ~Executor() = default;
  // Runs a legal program and says what was not as expected; `expected` is what `plan` made of it.
  [[nodiscard]] virtual std::vector<Finding> run(const Program& program, const std::vector<Planned>& expected) = 0;
};

}  // namespace mercutio::programs
