// Creating files by Lustre's own library, liblustreapi, where it is installed: it is looked for when a file with stripes is created.
#pragma once

#include <functional>
#include <string>

#include "model/layout.h"

namespace mercutio::posix {

// Makes the file with these stripes, as open(2) with O_CREAT | O_EXCL: a descriptor, or -1 and errno. ENOSYS: there is no such library, or it lacks
// what is needed.
int create_by_library(const std::string& path, int flags, int permissions, const Layout& layout);

}  // namespace mercutio::posix
