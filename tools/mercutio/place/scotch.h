// Scotch's mapper as a yardstick, where its command is installed (Debian: scotch).
#pragma once

#include "place/mapping.h"

namespace mercutio::place {

bool have_scotch();
// Empty after a failure. The sizes of places are kept, their costs are not: Scotch is told that all are equally far apart.
Mapping scotch(const Problem& problem);

}  // namespace mercutio::place
