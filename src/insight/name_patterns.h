// Name patterns: the common form of the names of similar files. "out.001.nc" and "out.017.nc" have the pattern "out.###.nc".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mercutio {

// The key of a name, equal for all names that differ only in their numbers: each run of digits is replaced by "###".
std::string pattern_key(std::string_view name);
// The pattern that covers `pattern` and `name`, which have the same key: runs of digits that differ are replaced by "###".
std::string widened_pattern(std::string_view pattern, std::string_view name);

// Files of different patterns for which a table has no room left are one: "(other files) /run/*.dat" says in which folder they are and
// what their names end in, as far as they have that in common.
inline constexpr const char* kOtherFiles = "(other files)";
bool is_other_files(std::string_view name);
// Of two names or patterns, or such names.
std::string other_files(std::string_view one, std::string_view other);
// A name in at most `most` bytes: of a longer one the end, behind a number that is made of all of it and tells it from others.
std::string recorded_name(std::string_view name, std::size_t most);
// What records of the same file, pattern, or other files have in common.
std::string record_key(std::string_view name);

}  // namespace mercutio
