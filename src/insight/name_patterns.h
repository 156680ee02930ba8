// Name patterns: what the names of a program's files of one kind have in common. "out.001.nc" and "out.017.nc" are "out.###.nc".
#pragma once

#include <string>
#include <string_view>

namespace mercutio {

// The same for all names that differ in their numbers only: each run of digits is "###".
std::string pattern_key(std::string_view name);
// A pattern that covers `pattern` and `name`, which have the same key: the runs of digits in which they differ are "###".
std::string widened_pattern(std::string_view pattern, std::string_view name);

}  // namespace mercutio
