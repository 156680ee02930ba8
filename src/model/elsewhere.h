// Paths that live on another cluster, as the hint mercutio_remote says: "/remote/far=mercutio://far/data", several with commas
// between. What lies below such a path is that name with the rest of the path behind it; "/remote=mercutio://" takes host and
// root from the path itself. The longest that fits counts. Cost: O(length of the hint) an open.
#pragma once

#include <string>

namespace mercutio {

std::string check_elsewhere(const std::string& hint);   // "" or why it can't be used

// The remote name of `path`; "" when it lives here. Relative paths count from the working directory; `.` and `..` are taken
// out first, so that no path gets in or out by them.
std::string place_elsewhere(const std::string& hint, const std::string& path);

}  // namespace mercutio
