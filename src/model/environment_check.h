// Variables that are set as if they were Mercutio's, and are not.
#pragma once

#include <string>
#include <vector>

namespace mercutio {

// Sentences, one for each: "MERCUTIO_HINT is no variable of Mercutio; did you mean MERCUTIO_HINTS?"
std::vector<std::string> unknown_variables(const char* const* environment);

}  // namespace mercutio
