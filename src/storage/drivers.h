// The drivers there are, one factory each. registry.cpp is the only caller in the product; tests make their own.
#pragma once

#include <memory>

#include "storage/storage.h"

namespace mercutio {

std::unique_ptr<Driver> make_posix_driver();   // files of the operating system
std::unique_ptr<Driver> make_memory_driver();  // "memory:": named files inside this process
std::unique_ptr<Driver> make_null_driver();    // "null:": keeps the size, drops the bytes

}  // namespace mercutio
