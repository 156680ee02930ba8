// All threads of the library are started here. They block all signals, which belong to the program.
#pragma once

#include <functional>
#include <thread>

#include "base/result.h"

namespace mercutio {

// An Error if no thread can be created ('ulimit -u', a limit of the batch system): the caller must be able to go on without
// one. An exception that leaves `work` ends the thread, not the program.
Result<std::thread> start_thread(std::function<void()> work);

}  // namespace mercutio
