// Programs as text: for reading, and as C.
#pragma once

#include <string>

#include "oracle.h"

namespace mercutio::programs {

[[nodiscard]] std::string shown(const Program& program, const std::vector<Planned>& planned);
// A self-contained MPI program that does the same and checks the same.
[[nodiscard]] std::string c_program(const Program& program, const std::vector<Planned>& planned);

}  // namespace mercutio::programs
