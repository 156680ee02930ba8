// The drivers there are, one factory each. registry.cpp is the only caller in the product; tests make their own.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "storage/storage.h"

namespace mercutio {

std::unique_ptr<Driver> make_posix_driver();   // files of the operating system
std::unique_ptr<Driver> make_memory_driver();  // "memory:": named files inside this process
std::unique_ptr<Driver> make_null_driver();    // "null:": keeps the size, drops the bytes
// "mercutio://": files of another cluster. Its code is libmercutio-remote.so, loaded when the first such file is opened.
std::unique_ptr<Driver> make_remote_driver();
// Somebody else's, in libmercutio-driver-NAME.so (include/mercutio/driver.h), which is loaded when the first such file is opened.
std::unique_ptr<Driver> make_library_driver(const std::string& name);

// How a file of the operating system is opened by whoever knows its path.
struct OpenCalls {
  std::function<int(int flags)> open;      // with the flags of open(2): a descriptor, or -1 and errno
  std::function<bool()> is_on_lustre;      // its folder
  std::string path;                        // empty: it isn't known to the process's other calls
};
// Opens as `options` say; a file that is made on a file system with stripes gets those that are wanted. -1 and errno.
int open_descriptor(const OpenOptions& options, const OpenCalls& calls);

// A file of the operating system that somebody opened as `options` say; the descriptor is closed with it, or on an error.
Result<std::unique_ptr<Storage>> adopt_descriptor(int fd, const OpenOptions& options);

}  // namespace mercutio
