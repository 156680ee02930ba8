// Runs a program on simulated ranks with a fault, and judges what came of it: whoever was told of success has the right bytes,
// the ranks of a collective call are told the same class, errors are those of the fault, and everything ends.
#pragma once

#include "executor.h"
#include "faults/fault.h"
#include "faults/record.h"

namespace mercutio::programs {

class FaultyExecutor final : public Executor {
 public:
  explicit FaultyExecutor(const Fault& fault) : fault_(fault) {}
  // The findings of all ranks.
  [[nodiscard]] std::vector<Finding> run(const Program& program, const std::vector<Planned>& expected) override;
  [[nodiscard]] bool met() const { return met_; }
  [[nodiscard]] i64 errors() const { return errors_; }  // that calls gave

 private:
  const Fault fault_;
  bool met_ = false;
  i64 errors_ = 0;
};

}  // namespace mercutio::programs
