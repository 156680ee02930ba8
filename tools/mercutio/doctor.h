// `mercutio doctor`: what was found, what would be used, what works here, and why something does not.
#pragma once

#include <string>

#include "launcher.h"

namespace mercutio::tool {

struct DoctorOptions {
  std::string directory = ".";  // where the data will lie
  Words command;                // the launcher line to try, may be empty
};

// 0: nothing in the way; 1: something is. Prints to stdout.
int doctor(const DoctorOptions& options);

}  // namespace mercutio::tool
