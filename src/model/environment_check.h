// Variables that are set as if they were Mercutio's, and are not.
#pragma once

#include <string>
#include <vector>

namespace mercutio {

// Sentences, one for each: "MERCUTIO_HINT is no variable of Mercutio; did you mean MERCUTIO_HINTS?"
std::vector<std::string> unknown_variables(const char* const* environment);

// What a variable that has only a few values may be, if `value` is none of them: "0 or 1". "": it is fine, or not known to be wrong.
std::string values_instead(const std::string& name, const std::string& value);

}  // namespace mercutio
