// Random numbers that must differ between processes: marks, names of files. Not for secrets.
#pragma once

#include <cstdint>

namespace mercutio {

std::uint64_t random_number();

}  // namespace mercutio
