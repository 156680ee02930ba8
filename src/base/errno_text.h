#pragma once

#include <string>

namespace mercutio {

std::string errno_text(int sys_errno);   // strerror(), for any thread

}  // namespace mercutio
