// What a file holds.
#pragma once

#include <string>

#include "base/result.h"

namespace mercutio {

// To its end, also where its size is not known beforehand, as in /proc. The error has the number of the system's.
Result<std::string> text_of_file(const std::string& path);

}  // namespace mercutio
