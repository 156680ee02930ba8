// Where the library or program is that this code is in: what is installed beside it is loaded from there.
#pragma once

#include <string>

namespace mercutio {

std::string library_folder();   // links resolved

}  // namespace mercutio
