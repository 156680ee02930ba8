// A transfer that was over before it was handed out.
#pragma once

#include <memory>

#include "storage/storage.h"

namespace mercutio {

std::unique_ptr<Transfer> finished_transfer(const Result<i64>& result);

}  // namespace mercutio
