// Yielding: whether somebody who waits gives the core away for a moment before sleeping. Among ranks that wait for each other that is
// quickest: the next one runs within a microsecond. Where others compute on the core, each such moment is a time slice of theirs,
// while one who sleeps is woken in time. So a yield that took as long as a slice is not tried again for a while.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>

#include "base/phases.h"

namespace mercutio {

class Yielding {
 public:
  static constexpr i64 kSliceNs = 500'000, kFewestWaits = 64, kMostWaits = 4096;

  // Asked once a wait.
  bool worth_trying() {
    if (left_out_.load(std::memory_order_relaxed) <= 0) return true;
    left_out_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  // Whether another one is worth trying in this wait.
  bool yield() {
    const i64 start = now_ns();
    sched_yield();
    return took(now_ns() - start);
  }
  // What a yield took: whether another one is worth trying in this wait.
  bool took(i64 ns) {
    const i64 waits = waits_.load(std::memory_order_relaxed);
    if (ns < kSliceNs) {
      if (waits > 0) waits_.store(waits - std::max<i64>(1, waits / 8), std::memory_order_relaxed);
      return true;
    }
    const i64 more = std::clamp(2 * waits, kFewestWaits, kMostWaits);
    waits_.store(more, std::memory_order_relaxed);
    left_out_.store(more, std::memory_order_relaxed);
    return false;
  }

 private:
  std::atomic<i64> waits_{0};     // that are to do without when the next yield takes as long, too: half of them
  std::atomic<i64> left_out_{0};  // that still are to do without
};

inline Yielding yielding;   // of this process, whatever it waits for

}  // namespace mercutio
