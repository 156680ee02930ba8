// The drivers there are, one factory each. registry.cpp is the only caller in the product; tests make their own.
#pragma once

#include <memory>

#include "storage/storage.h"

namespace mercutio {

std::unique_ptr<Driver> make_posix_driver();   // files of the operating system
std::unique_ptr<Driver> make_memory_driver();  // "memory:": named files inside this process
std::unique_ptr<Driver> make_null_driver();    // "null:": keeps the size, drops the bytes
// "mercutio://": files of another cluster. Its code is libmercutio-remote.so, loaded when the first such file is opened.
std::unique_ptr<Driver> make_remote_driver();

// A file of the operating system that somebody opened as `options` say; the descriptor is closed with it, or on an error.
Result<std::unique_ptr<Storage>> adopt_descriptor(int fd, const OpenOptions& options);

}  // namespace mercutio
