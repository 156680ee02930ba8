// One factory for each driver. registry.cpp is the only caller in the product; tests make drivers of their own.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "storage/storage.h"

namespace mercutio {

std::unique_ptr<Driver> make_posix_driver();   // files of the operating system
std::unique_ptr<Driver> make_memory_driver();  // "memory:": named files inside this process
std::unique_ptr<Driver> make_null_driver();    // "null:": keeps the size, drops the bytes
// "mercutio://": files on another cluster. The code is in libmercutio-remote.so, which is loaded at the first open of such a file.
std::unique_ptr<Driver> make_remote_driver();
// A driver library, libmercutio-driver-NAME.so (include/mercutio/driver.h), which is loaded at the first open of such a file.
std::unique_ptr<Driver> make_library_driver(const std::string& name);

// Whether read() and write() of the driver's files are system calls on the caller's memory. They then fail with EFAULT, and do no harm,
// where the processor may not access it.
bool moves_by_system_calls(const Driver& driver);
// Whether the driver's files are on another cluster: each process that opens one connects to a server there.
bool is_remote(const Driver& driver);

// Opens a file of the operating system on behalf of a caller that knows its path.
struct OpenCalls {
  std::function<int(int flags)> open;      // with the flags of open(2): a descriptor, or -1 and errno
  std::function<bool()> is_on_lustre;      // whether its folder is
  std::string path;                        // empty: the process's other calls can't use a path
};
// Opens according to `options`. A new file on a file system with stripes gets the wanted ones. Returns -1 and errno on failure.
int open_descriptor(const OpenOptions& options, const OpenCalls& calls);

// The Storage of a descriptor that was opened according to `options`. Takes ownership of the descriptor, also on an error.
Result<std::unique_ptr<Storage>> adopt_descriptor(int fd, const OpenOptions& options);

}  // namespace mercutio
