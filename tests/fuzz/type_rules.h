// Datatypes from bytes, and what the standard says of their arguments, worked out without src/model's lowering.
#pragma once

#include "fuzz.h"
#include "model/flat_type.h"

namespace mercutio::fuzz {

// Any constructor with any arguments: `tame` ones are small and mostly legal, the others are whatever the bytes say, absent
// children included.
TypeSpecRef type_from(Taker& taker, int depth, bool tame);

// What the arguments alone tell. Numbers are upper bounds, saturated at kEndless.
struct Judgement {
  bool legal = true;
  i64 work = 1;    // elements an expansion visits, whether they hold data or not
  i64 bytes = 0;   // of data
  i64 reach = 0;   // no bound, displacement or product of them goes further from 0
  i64 depth = 1;
};
inline constexpr i64 kEndless = i64{1} << 60;
Judgement judge(const TypeSpec& spec, Sizes sizes);

}  // namespace mercutio::fuzz
