// Drives what a simulated rank has started, one access after the other: as a thread of progress does, without a thread.
#pragma once

#include <list>
#include <memory>
#include <optional>

#include "faults/job.h"

namespace mercutio::programs {

class RankProgress final : public Progress {
 public:
  explicit RankProgress(SimulatedJob& job) : job_(job) {}
  RequestRef start(RequestBody body) override;
  void drive();  // each of them once
  void abandon();
  [[nodiscard]] bool idle() const { return active_.empty() && !driving_; }
  [[nodiscard]] bool driving() const { return driving_; }

 private:
  class RankRequest;
  SimulatedJob& job_;
  std::list<std::shared_ptr<RankRequest>> active_;
  bool driving_ = false;
};

}  // namespace mercutio::programs
