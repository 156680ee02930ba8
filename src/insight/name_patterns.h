// Name patterns: the common form of the names of similar files. "out.001.nc" and "out.017.nc" have the pattern "out.###.nc".
#pragma once

#include <string>
#include <string_view>

namespace mercutio {

// The key of a name, equal for all names that differ only in their numbers: each run of digits is replaced by "###".
std::string pattern_key(std::string_view name);
// The pattern that covers `pattern` and `name`, which have the same key: runs of digits that differ are replaced by "###".
std::string widened_pattern(std::string_view pattern, std::string_view name);

}  // namespace mercutio
