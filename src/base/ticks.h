// A clock for very short times: the processor's counter where it has one that a program may read in a few nanoseconds, else the kernel's
// coarse clock, whose error cancels out over many times. How long a tick takes, a reader measures by another clock. Counters of different cores
// may differ by a little: a difference may be below 0.
#pragma once

#include <ctime>

#include "base/types.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace mercutio {

inline i64 ticks() {
#if defined(__x86_64__)
  return static_cast<i64>(__rdtsc());
#elif defined(__aarch64__)
  i64 count = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
#if defined(CLOCK_MONOTONIC_COARSE)
  constexpr clockid_t kClock = CLOCK_MONOTONIC_COARSE;
#else
  constexpr clockid_t kClock = CLOCK_MONOTONIC;
#endif
  timespec now{};
  ::clock_gettime(kClock, &now);
  return now.tv_sec * i64{1'000'000'000} + now.tv_nsec;
#endif
}

}  // namespace mercutio
