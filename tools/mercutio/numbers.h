// Numbers on the command line, each in a range: what is wrong is said with the option's name and that range, however long the text is.
#pragma once

#include <CLI/CLI.hpp>

#include "base/types.h"

namespace mercutio::tool {

CLI::Validator whole_number(i64 least, i64 most);
// With or without a unit, of which each is a power of 1024. kDecimal: of 1000, as in MB/s, unless it is KiB and so on.
enum class Units { kBinary, kDecimal };
CLI::Validator size_number(i64 least, i64 most, Units units = Units::kBinary);
CLI::Validator seconds_number();   // more than 0

}  // namespace mercutio::tool
