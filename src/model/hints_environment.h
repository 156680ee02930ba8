// The one place where the library asks the environment about hints, and where the user's configuration is.
#pragma once

#include <string>

namespace mercutio {

std::string environment(const char* name);        // "" when it isn't set
bool is_switched_on(const std::string& value);    // anything but nothing, 0, no, off and false
// $XDG_CONFIG_HOME/mercutio/NAME, else ~/.config/mercutio/NAME; "" without a home directory.
std::string configuration_file(const std::string& name);

}  // namespace mercutio
