// The trace: typed events with times and bytes. A null sink costs one branch.
#pragma once

#include <chrono>
#include <string_view>

#include "base/types.h"

namespace mercutio {

struct Counters;   // base/counters.h

enum class TraceKind { kOpen, kClose, kPlan, kExchange, kStorageRead, kStorageWrite, kLock, kSieve, kCopy, kWait, kSync, kCollective };

struct TraceEvent {
  TraceKind kind;
  i64 start_ns = 0;   // steady clock
  i64 end_ns = 0;
  i64 bytes = 0;
  i64 offset = -1;
  std::string_view detail;   // valid during the call only
  const Counters* counters = nullptr;   // kCollective: of the access; valid during the call only
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void record(const TraceEvent& event) = 0;   // any thread
};

inline i64 now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace mercutio
