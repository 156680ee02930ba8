// Loads the driver of remote files, libmercutio-remote.so, from this library's folder at the first use of such a file.
#pragma once

#include "storage/storage.h"

namespace mercutio {

// The two libraries exchange C++ objects: both must have the same version and compiler.
inline constexpr const char* kRemoteBuild = MERCUTIO_VERSION_TEXT " " __VERSION__;

}  // namespace mercutio
