// Creates files through Lustre's own library, liblustreapi, if it is installed. It is loaded when the first file with stripes is created.
#pragma once

#include <functional>
#include <string>

#include "model/layout.h"

namespace mercutio::posix {

// Creates the file with these stripes, like open(2) with O_CREAT | O_EXCL: a descriptor, or -1 and errno. ENOSYS: the library is
// missing or lacks a needed function.
int create_by_library(const std::string& path, int flags, int permissions, const Layout& layout);

}  // namespace mercutio::posix
