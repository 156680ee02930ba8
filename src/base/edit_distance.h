// What somebody may have meant who mistyped a word.
#pragma once

#include <string_view>

#include "base/types.h"

namespace mercutio {

// The optimal string alignment distance: insertions, deletions, changes and swaps of neighbours.
i64 edit_distance(std::string_view a, std::string_view b);
// Up to this many mistakes are believable: one in a short word, two in a long one.
inline i64 believable_mistakes(std::string_view word) { return word.size() < 8 ? 1 : 2; }

}  // namespace mercutio
