// Loads the driver of remote files, libmercutio-remote.so, from this library's folder at the first use of such a file.
#pragma once

#include "mercutio_revision.h"
#include "storage/storage.h"

namespace mercutio {

// The two libraries exchange C++ objects: both must be built from the same sources, by the same compiler.
inline constexpr const char* kRemoteBuild = MERCUTIO_REVISION " " __VERSION__;

}  // namespace mercutio
