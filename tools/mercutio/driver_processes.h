// The part of `mercutio driver check` that needs several processes.
#pragma once

#include <memory>
#include <string>

#include "storage/contract.h"

namespace mercutio::tool {

// This process, which was forked, ends when the one that has started it ends.
void end_with_parent();

// Processes that write one file side by side, and count under a lock. To be made before any thread is started and the driver is loaded.
class DriverWorkers {
 public:
  DriverWorkers(const std::string& file, int processes);
  ~DriverWorkers();
  void check(ContractRun& run);   // on that file

 private:
  class Processes;
  std::unique_ptr<Processes> processes_;
};

}  // namespace mercutio::tool
