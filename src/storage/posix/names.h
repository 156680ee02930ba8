// What clients of network file systems remember of names.
#pragma once

#include <string>

#include "base/result.h"

namespace mercutio::posix {

// Asks the server for the attributes of the folders, from the top: where they have changed, this node forgets which names it has
// not found there. Then of the file: where the name stands for one that is gone, the kernel asks for the name again.
void refresh_names(const std::string& path);

// An error if the name is no more that of the open file. FUSE opens the file that this node knew under the name for as long as it may
// remember names, and it may live on though it was deleted, while somebody's close of it is under way.
Status still_named(const std::string& path, int fd);

}  // namespace mercutio::posix
