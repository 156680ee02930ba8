// Paths that stay valid when the program changes its working directory.
#pragma once

#include <string>

namespace mercutio {

// The path behind the working directory of now. As it is if it is absolute or empty, or if the working directory has no name.
std::string absolute_path(const std::string& path);

}  // namespace mercutio
