#include "faults/fault.h"

#include "draw.h"

namespace mercutio::programs {

Fault draw_fault(const Program& program) {
  Draw draw(program.seed ^ 0x5EEDFA17ULL);
  Fault fault;
  const i64 kind = draw.between(0, 99);
  fault.kind = kind < 3 ? Fault::Kind::kNone : kind < 75 || program.ranks == 1 ? Fault::Kind::kStorage : Fault::Kind::kDeath;
  fault.rank = draw.between(0, program.ranks - 1);
  fault.at = draw.between(0, draw.one_of(std::vector<i64>{4, 15, 40, 40, 120}));
  fault.from_then_on = draw.percent(12);
  fault.partial_bytes = draw.percent(50) ? 0 : draw.between(1, draw.percent(50) ? 20 : 3000);
  fault.error = draw.one_of(std::vector<ErrorClass>{ErrorClass::kIo, ErrorClass::kIo, ErrorClass::kNoSpace, ErrorClass::kQuota,
                                                    ErrorClass::kAccess});
  fault.step = draw.between(0, static_cast<i64>(program.steps.size()) - 1);
  fault.waits = draw.between(0, draw.one_of(std::vector<i64>{1, 10, 40}));
  return fault;
}

std::string describe(const Fault& fault) {
  const std::string rank = " on rank " + std::to_string(fault.rank);
  switch (fault.kind) {
    case Fault::Kind::kNone:
      return "no fault";
    case Fault::Kind::kStorage:
      return "storage call " + std::to_string(fault.at) + rank + " fails" + (fault.from_then_on ? ", and all that follow" : "") +
             " with " + error_class_name(fault.error) + ", a write after " + std::to_string(fault.partial_bytes) + " bytes";
    case Fault::Kind::kDeath:
      return "rank " + std::to_string(fault.rank) + " dies in wait " + std::to_string(fault.waits) + " from the " +
             std::to_string(fault.step) + ". step on";
  }
  return "";
}

std::shared_ptr<FaultPlan> plan_of(const Fault& fault) {
  auto plan = std::make_shared<FaultPlan>();
  plan->fail_at = fault.at;
  plan->from_then_on = fault.from_then_on;
  plan->partial_write_bytes = fault.partial_bytes;
  plan->error = Error{fault.error, "failed on purpose", 5};
  return plan;
}

}  // namespace mercutio::programs
