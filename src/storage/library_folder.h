// The folder of the library or program that contains this code. Libraries that are installed beside it are loaded from there.
#pragma once

#include <string>

namespace mercutio {

std::string library_folder();   // with symbolic links resolved

}  // namespace mercutio
