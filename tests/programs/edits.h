// Makes a program simpler, as a text of words: -s:12 and -s:12-20 take steps away, -r:12.3 rank 3's part in step 12, ranks:2 all
// ranks but two, -hints all hints, -hint:NAME one, -delays all delays, -delay:12 those of a step, plain:12 its memory types,
// blocking:12 makes it blocking, plainview:12 gives all ranks of a set_view bytes.
#pragma once

#include <string>

#include "program.h"

namespace mercutio::programs {

[[nodiscard]] Program edited(Program program, const std::string& edits);

}  // namespace mercutio::programs
