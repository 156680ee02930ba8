// BlockingDetector: whether a storage makes its callers wait (servers, disks) or only copies (the page cache): a transfer that took
// noticeable time and slept in the kernel meanwhile. What was only preempted did not sleep of its own will. Large reads of
// a file are remembered apart: as long as all of them only copied, the next are taken to.
#pragma once

#include <sys/resource.h>

#include <atomic>

#include "base/trace.h"

namespace mercutio {

class BlockingDetector {
 public:
  // Around a transfer, by one thread; any number of threads may have one each.
  struct Probe {
    i64 start_ns = 0, switches = -1;
  };
  // `closely`: count switches in any case; else only after something took long, which spares two system calls.
  Probe before(bool closely) const {
    const bool count = closely || suspected_.load(std::memory_order_relaxed);
    return Probe{now_ns(), count ? switches() : -1};
  }
  // Whether it blocked, as far as that was counted.
  bool after(const Probe& probe) {
    if (!took_long(probe)) return false;
    suspected_.store(true, std::memory_order_relaxed);
    if (!switched(probe)) return false;
    blocks_.store(true, std::memory_order_relaxed);
    return true;
  }
  bool blocks() const { return blocks_.load(std::memory_order_relaxed); }   // seen at least once

  static constexpr i64 kTellingBytes = 256 * KiB;   // what one gets without a wait was not on a disk
  enum class Reads : i64 { kUnknown, kCopy, kBlock };   // by rising weight
  void saw_read(i64 bytes, bool blocked) {
    if (blocked) reads_.store(Reads::kBlock, std::memory_order_relaxed);
    Reads unknown = Reads::kUnknown;
    if (bytes >= kTellingBytes) reads_.compare_exchange_strong(unknown, Reads::kCopy, std::memory_order_relaxed);
  }
  // The same of a read in several transfers, that was probed closely.
  void saw_read(i64 bytes, const Probe& probe) { saw_read(bytes, took_long(probe) && switched(probe)); }
  Reads reads() const { return reads_.load(std::memory_order_relaxed); }

 private:
  static constexpr i64 kNoticeableNs = 200'000;   // shorter waits are not worth a thread
  static bool took_long(const Probe& probe) { return now_ns() - probe.start_ns > kNoticeableNs; }
  static bool switched(const Probe& probe) { return probe.switches >= 0 && switches() > probe.switches; }
  // How often this thread gave up its core to wait for something.
  static i64 switches() {
    struct rusage usage {};
    return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? i64{usage.ru_nvcsw} : 0;
  }
  std::atomic<bool> suspected_{false}, blocks_{false};
  std::atomic<Reads> reads_{Reads::kUnknown};
};

// A close probe of what this scope transfers. `detector` may be null.
class BlockingProbe {
 public:
  explicit BlockingProbe(BlockingDetector* detector) : detector_(detector), probe_(detector ? detector->before(/*closely=*/true) : BlockingDetector::Probe{}) {}
  BlockingProbe(const BlockingProbe&) = delete;
  BlockingProbe& operator=(const BlockingProbe&) = delete;
  ~BlockingProbe() {
    if (detector_) detector_->after(probe_);
  }

 private:
  BlockingDetector* detector_;
  BlockingDetector::Probe probe_;
};

}  // namespace mercutio
