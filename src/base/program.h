// The name of the program of this process, or of the script if an interpreter runs one. Costs one or two small reads of /proc.
#pragma once

#include <string>

namespace mercutio {

const std::string& program_name();   // without '/' and blanks; determined once

// The same from the contents of /proc/self/cmdline and the kernel's name of the process (comm).
std::string program_name_in(const std::string& command_line, const std::string& kernels_name);

}  // namespace mercutio
