// C calls that make the types and modes of a program.
#pragma once

#include <string>

#include "program.h"

namespace mercutio::programs {

// What makes t[index] out of others of t.
[[nodiscard]] std::string type_call(const Program& program, int index);
[[nodiscard]] std::string mode_call(unsigned mode);

}  // namespace mercutio::programs
