// What the environment says about the shared file pointer and the progress thread.
#pragma once

#include <string>
#include <vector>

namespace mercutio {

// The first way to try; memory gives way to a window, and a window to a file.
enum class SharedPointerWay { kMemory, kWindow, kFile };
SharedPointerWay shared_pointer_way();

// Where its file may be, best first. `folder`: of a file that all ranks have open; "": none.
std::vector<std::string> shared_pointer_directories(const std::string& folder);

bool progress_stays_bound();

}  // namespace mercutio
