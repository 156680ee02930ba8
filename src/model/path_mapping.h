// Maps local paths to files on other clusters, as the hint mercutio_remote says: "/remote/far=mercutio://far/data", several of
// them separated by commas. A path below such a prefix stands for the remote name followed by the rest of the path.
// "/remote=mercutio://" takes host and root from the path itself. The longest matching prefix counts.
// Cost: O(length of the hint) per open.
#pragma once

#include <string>

namespace mercutio {

std::string check_path_mapping(const std::string& hint);   // "", or why the hint can't be used

// The remote name of `path`, or "" for a local file. Relative paths start at the working directory. `.` and `..` are resolved
// first, so that they can't lead into or out of a prefix.
std::string map_path(const std::string& hint, const std::string& path);

}  // namespace mercutio
