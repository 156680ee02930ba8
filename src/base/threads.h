// The one way to start a thread of the library. Such threads take no signals: those are the program's.
#pragma once

#include <functional>
#include <thread>

#include "base/result.h"

namespace mercutio {

// An Error where no thread can be had ('ulimit -u', a limit of the batch system): whoever asks must be able to go on
// without. An exception that leaves `work` ends the thread, not the program.
Result<std::thread> start_thread(std::function<void()> work);

}  // namespace mercutio
