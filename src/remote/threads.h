// Threads of the product take no signals: those are the program's.
#pragma once

#include <functional>
#include <thread>

namespace mercutio::remote {

std::thread start_thread(std::function<void()> work);

}  // namespace mercutio::remote
