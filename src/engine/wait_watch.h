// WaitWatch: whether a storage makes its callers wait (servers, disks) or only copies (the page cache): a transfer that took
// noticeable time and slept in the kernel meanwhile. What was only preempted did not sleep of its own will.
#pragma once

#include <sys/resource.h>

#include <atomic>

#include "base/trace.h"

namespace mercutio {

class WaitWatch {
 public:
  // Around a transfer, by one thread; any number of threads may have one each.
  struct Look {
    i64 start_ns = 0, sleeps = -1;
  };
  // `closely`: count sleeps in any case; else only after something took long, which spares two system calls.
  Look before(bool closely) const {
    const bool count = closely || suspected_.load(std::memory_order_relaxed);
    return Look{now_ns(), count ? sleeps() : -1};
  }
  void after(const Look& look) {
    if (now_ns() - look.start_ns <= kNoticeableNs) return;
    suspected_.store(true, std::memory_order_relaxed);
    if (look.sleeps >= 0 && sleeps() > look.sleeps) waits_.store(true, std::memory_order_relaxed);
  }
  bool waits() const { return waits_.load(std::memory_order_relaxed); }   // seen at least once

 private:
  static constexpr i64 kNoticeableNs = 200'000;   // shorter waits are not worth a thread
  // How often this thread gave up its core to wait for something.
  static i64 sleeps() {
    struct rusage usage {};
    return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? i64{usage.ru_nvcsw} : 0;
  }
  std::atomic<bool> suspected_{false}, waits_{false};
};

// A close look at what this scope transfers. `watch` may be null.
class WaitLook {
 public:
  explicit WaitLook(WaitWatch* watch) : watch_(watch), look_(watch ? watch->before(/*closely=*/true) : WaitWatch::Look{}) {}
  WaitLook(const WaitLook&) = delete;
  WaitLook& operator=(const WaitLook&) = delete;
  ~WaitLook() {
    if (watch_) watch_->after(look_);
  }

 private:
  WaitWatch* watch_;
  WaitWatch::Look look_;
};

}  // namespace mercutio
