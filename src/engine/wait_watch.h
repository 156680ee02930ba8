// WaitWatch: whether a storage makes its callers wait (servers, disks) or only copies (the page cache): a transfer that took
// noticeable time and slept in the kernel meanwhile. What was only preempted did not sleep of its own will. Large reads of
// a file are remembered apart: as long as all of them only copied, the next are taken to.
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
  // Whether it waited, as far as that was counted.
  bool after(const Look& look) {
    if (!took_long(look)) return false;
    suspected_.store(true, std::memory_order_relaxed);
    if (!slept(look)) return false;
    waits_.store(true, std::memory_order_relaxed);
    return true;
  }
  bool waits() const { return waits_.load(std::memory_order_relaxed); }   // seen at least once

  static constexpr i64 kTellingBytes = 256 * KiB;   // what one gets without a wait was not on a disk
  enum class Reads : i64 { kUnknown, kCopy, kWait };   // by rising weight
  void saw_read(i64 bytes, bool waited) {
    if (waited) reads_.store(Reads::kWait, std::memory_order_relaxed);
    Reads unknown = Reads::kUnknown;
    if (bytes >= kTellingBytes) reads_.compare_exchange_strong(unknown, Reads::kCopy, std::memory_order_relaxed);
  }
  // The same of a read in several transfers, that was looked at closely.
  void saw_read(i64 bytes, const Look& look) { saw_read(bytes, took_long(look) && slept(look)); }
  Reads reads() const { return reads_.load(std::memory_order_relaxed); }

 private:
  static constexpr i64 kNoticeableNs = 200'000;   // shorter waits are not worth a thread
  static bool took_long(const Look& look) { return now_ns() - look.start_ns > kNoticeableNs; }
  static bool slept(const Look& look) { return look.sleeps >= 0 && sleeps() > look.sleeps; }
  // How often this thread gave up its core to wait for something.
  static i64 sleeps() {
    struct rusage usage {};
    return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? i64{usage.ru_nvcsw} : 0;
  }
  std::atomic<bool> suspected_{false}, waits_{false};
  std::atomic<Reads> reads_{Reads::kUnknown};
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
