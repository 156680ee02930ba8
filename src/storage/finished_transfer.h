// A transfer that is complete from the start.
#pragma once

#include <memory>

#include "storage/storage.h"

namespace mercutio {

std::unique_ptr<Transfer> finished_transfer(const Result<i64>& result);

}  // namespace mercutio
