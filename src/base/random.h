// Random numbers that must differ between processes: marks, names of files. Not for secrets.
#pragma once

#include <cstdint>
#include <string>

namespace mercutio {

std::uint64_t random_number();
std::string random_file_name();   // "/mercutio-", the process and a random number

}  // namespace mercutio
