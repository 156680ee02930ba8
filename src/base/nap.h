// A short sleep of a thread that waits for others. Without high-resolution timers the kernel ends a sleep at one of its ticks, up to
// 10 ms later, which is many times what is waited for. There the core is yielded instead.
#pragma once

#include <sched.h>
#include <time.h>

#include "base/types.h"

namespace mercutio {

// Whether a sleep of `ns` takes about that long.
inline bool can_nap(i64 ns) {
  static const i64 resolution_ns = [] {
    timespec resolution{};
    return ::clock_getres(CLOCK_MONOTONIC, &resolution) == 0 ? i64{resolution.tv_sec} * 1'000'000'000 + i64{resolution.tv_nsec} : i64{1};
  }();
  return ns >= resolution_ns;
}

inline void nap(i64 ns) {
  const timespec pause{ns / 1'000'000'000, ns % 1'000'000'000};
  if (can_nap(ns)) ::nanosleep(&pause, nullptr);
  else ::sched_yield();
}

}  // namespace mercutio
