// Counters: the cost of one access of one rank beyond moving its bytes, and where its time was spent. Part of the trace.
#pragma once

#include <algorithm>

#include "base/phases.h"
#include "base/types.h"

namespace mercutio {

struct Counters {
  i64 metadata_bytes = 0;   // sent to describe the bytes of the access: run lists
  i64 messages = 0;         // sent, including those of agreements
  i64 message_bytes = 0;
  i64 in_degree = 0;        // ranks that sent to this aggregator, or requested data from it, in one step: the maximum over all steps
  i64 copied_bytes = 0;     // between user's buffers, windows and messages
  i64 merged_bytes = 0;     // read from the file only to be written back around new data
  i64 hole_bytes = 0;       // read from the file only because they lie between requested bytes
  i64 plans_reused = 0;     // 1: the plan came from the cache
  bool adapted = false;     // mercutio_adapt has chosen another way than the default
  PhaseClock clock;         // runs only while tracing

  void saw_in_degree(i64 others) { in_degree = std::max(in_degree, others); }
};

// During its lifetime, time is charged to `phase`; afterwards to the previous phase again. `counters` may be null.
class PhaseScope {
 public:
  PhaseScope(Counters* counters, Phase phase) : clock_(counters ? &counters->clock : nullptr) {
    if (clock_) before_ = clock_->enter(phase);
  }
  ~PhaseScope() {
    if (clock_) clock_->leave(before_);
  }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  PhaseClock* clock_;
  Phase before_ = Phase::kOwn;
};

// The time of one step of an exchange. It counts as waiting if the step moved and sent nothing.
class ExchangePhaseScope {
 public:
  explicit ExchangePhaseScope(Counters& counters) : counters_(counters), scope_(&counters, Phase::kExchange), seen_(activity()) {}
  ~ExchangePhaseScope() {
    if (activity() == seen_) counters_.clock.call_it(Phase::kWait);
  }
  ExchangePhaseScope(const ExchangePhaseScope&) = delete;
  ExchangePhaseScope& operator=(const ExchangePhaseScope&) = delete;

 private:
  i64 activity() const { return counters_.clock.switches() + counters_.messages + counters_.copied_bytes; }
  Counters& counters_;
  PhaseScope scope_;
  i64 seen_;
};

}  // namespace mercutio
