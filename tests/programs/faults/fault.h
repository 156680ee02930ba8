// What goes wrong in a run: a call of the storage fails on one rank, or a rank dies.
#pragma once

#include <string>

#include "program.h"
#include "storage/faulty.h"

namespace mercutio::programs {

struct Fault {
  enum class Kind { kNone, kStorage, kDeath } kind = Kind::kNone;
  i64 rank = 0;
  // Of the storage.
  i64 at = 0;                 // the call that fails, of those of the rank, opens included
  bool from_then_on = false;  // and all that follow it
  i64 partial_bytes = 0;      // of a write that fails
  ErrorClass error = ErrorClass::kIo;
  // A rank dies where it waits for the n-th time from a step on.
  i64 step = 0, waits = 0;
};

[[nodiscard]] Fault draw_fault(const Program& program);
[[nodiscard]] std::string describe(const Fault& fault);
[[nodiscard]] std::shared_ptr<FaultPlan> plan_of(const Fault& fault);

}  // namespace mercutio::programs
