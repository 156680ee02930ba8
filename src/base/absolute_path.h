// Paths of files as text.
#pragma once

#include <string>

namespace mercutio {

// The path behind the working directory of now, which stays valid when the program changes that. As it is if it is absolute or empty, or if the working directory has no name.
std::string absolute_path(const std::string& path);
// Its directory, with the slash at the end.
std::string folder_of(const std::string& path);

}  // namespace mercutio
