// What a process calls itself: its program's name, or its script's where an interpreter runs one. One or two small reads of
// /proc.
#pragma once

#include <string>

namespace mercutio {

const std::string& program_name();   // no / and no blanks in it; looked up once

// Of the process's words, as /proc/self/cmdline has them, and the kernel's name for it.
std::string program_name_in(const std::string& command_line, const std::string& kernels_name);

}  // namespace mercutio
