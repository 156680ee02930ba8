// What the environment says about the shared file pointer and the progress thread.
#pragma once

#include <string>

namespace mercutio {

// The first way to try; memory gives way to a window, and a window to a file.
enum class SharedPointerWay { kMemory, kWindow, kFile };
SharedPointerWay shared_pointer_way();

std::string shared_pointer_directory();

bool progress_stays_bound();

}  // namespace mercutio
