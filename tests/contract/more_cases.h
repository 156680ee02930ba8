// Drivers that are not in every build.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "storage/storage.h"

namespace mercutio {

struct ContractCase {
  const char* label;
  const char* prefix;
  bool keeps_bytes;
  std::function<std::unique_ptr<Storage>(std::unique_ptr<Storage>)> wrap;
  AsyncBackend backend = AsyncBackend::kAuto;
  bool keeps = false;   // writes that return early, and reads in advance
};

std::vector<ContractCase> more_cases();

}  // namespace mercutio
