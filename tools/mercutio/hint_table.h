// `mercutio hints`: the table of hints, and one of them explained.
#pragma once

#include <string>

namespace mercutio::tool {

int list_hints();
int explain_hint(const std::string& name);  // 1 when there is none of that name

}  // namespace mercutio::tool
