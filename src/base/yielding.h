// Yielding decides whether a waiting thread calls sched_yield() before it sleeps. Among ranks that wait for each other a yield is
// fastest: the next rank runs within a microsecond. If other processes compute on the core, each yield costs one of their time
// slices, while a sleeping thread is woken in time. So after a yield that took as long as a time slice, the next waits do without: few
// after the first, because the other ranks may only have started something that takes each of them longer once, and many after the second.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>

#include "base/phases.h"

namespace mercutio {

// Tells the core that a thread polls.
inline void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class Yielding {
 public:
  static constexpr i64 kSliceNs = 500'000, kFirstWaits = 8, kFewestWaits = 64, kMostWaits = 4096;

  // Called once per wait.
  bool worth_trying() {
    if (left_out_.load(std::memory_order_relaxed) <= 0) return true;
    left_out_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  // Yields once. Returns whether another yield is worth trying in this wait.
  bool yield() {
    const i64 start = now_ns();
    sched_yield();
    return took(now_ns() - start);
  }
  // Says that yields may take this long and not be slow, because many ranks that wait share the core.
  void expect(i64 ns) {
    if (ns > slow_ns_.load(std::memory_order_relaxed)) slow_ns_.store(ns, std::memory_order_relaxed);
  }
  // Records the duration of a yield. Returns whether another yield is worth trying in this wait.
  bool took(i64 ns) {
    const i64 waits = waits_.load(std::memory_order_relaxed);
    if (ns < slow_ns_.load(std::memory_order_relaxed)) {
      if (waits > 0) waits_.store(waits - std::max<i64>(1, waits / 8), std::memory_order_relaxed);
      return true;
    }
    const i64 more = waits == 0 ? kFirstWaits : std::clamp(2 * waits, kFewestWaits, kMostWaits);
    waits_.store(more, std::memory_order_relaxed);
    left_out_.store(more, std::memory_order_relaxed);
    return false;
  }
  bool were_slow() const { return waits_.load(std::memory_order_relaxed) > 0; }
  // The yields so far were among accesses that the next ones have nothing to do with. Don't call it if yields were slow before those accesses already (were_slow).
  void forget() {
    waits_.store(0, std::memory_order_relaxed);
    left_out_.store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<i64> slow_ns_{kSliceNs};   // a yield that takes as long is slow
  std::atomic<i64> waits_{0};     // number of waits that do without yields after a slow one; at least doubled by each slow yield
  std::atomic<i64> left_out_{0};  // of these, the waits that are still to come
};

inline Yielding yielding;   // one for the whole process

}  // namespace mercutio
