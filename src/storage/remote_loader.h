// Loads the driver of remote files, libmercutio-remote.so, from beside this library when the first such file is named.
#pragma once

#include "storage/storage.h"

namespace mercutio {

// Classes cross the border between the two libraries: they must be of the same version and compiler.
inline constexpr const char* kRemoteBuild = MERCUTIO_VERSION_TEXT " " __VERSION__;

}  // namespace mercutio
