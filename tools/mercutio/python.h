// The Python that the commands written in it run with.
#pragma once

#include <string>

namespace mercutio::tool {

// MERCUTIO_PYTHON; else the first of python3 beside this command, on PATH and the system's that has `modules` ("a, b"); else
// python3 on PATH, which then says itself what is missing. "" where there is none.
std::string find_python(const std::string& modules);

}  // namespace mercutio::tool
