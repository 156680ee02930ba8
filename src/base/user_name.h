// The name of a user.
#pragma once

#include <sys/types.h>

#include <string>

namespace mercutio {

// From the system's list of users; "uid 1000" where it is not in there, or not to be had.
std::string name_of_user(uid_t uid);

}  // namespace mercutio
