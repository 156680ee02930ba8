// Makes a legal program of any: steps that the standard forbids where they stand are left out or changed, and what is missing is
// put in (completions before a close, a barrier where the place of a shared access would depend on who comes first, closes
// and a look at every file at the end).
#pragma once

#include "program.h"

namespace mercutio::programs {

[[nodiscard]] Program legalise(const Program& program);

}  // namespace mercutio::programs
