// BlockingDetector: detects storage on which I/O calls block (servers, disks), as opposed to storage that only copies (the page
// cache). A transfer blocked if it took at least kNoticeableNs and the thread had voluntary context switches; preemption does not
// count. Large reads are recorded separately: while all of them only copied, the next ones are expected to copy.
#pragma once

#include <sys/resource.h>

#include <atomic>

#include "base/trace.h"

namespace mercutio {

class BlockingDetector {
 public:
  // The state of the calling thread before a transfer. Each thread needs its own; the detector itself may be shared.
  struct Probe {
    i64 start_ns = 0, switches = -1;
  };
  // `closely`: always count context switches. Otherwise they are counted only after a slow transfer, which saves two system calls.
  Probe before(bool closely) const {
    if (only_copies_) return {};
    const bool count = closely || suspected_.load(std::memory_order_relaxed);
    return Probe{now_ns(), count ? switches() : -1};
  }
  // The storage is memory: a transfer that takes long has waited for another rank or for a core. Before the first transfer.
  void expect_copies() { only_copies_ = true; }
  bool expects_copies() const { return only_copies_; }
  // Returns whether the transfer blocked. Without a count of context switches it did not.
  bool after(const Probe& probe) {
    if (only_copies_ || !took_long(probe)) return false;
    suspected_.store(true, std::memory_order_relaxed);
    if (!switched(probe)) return false;
    blocks_.store(true, std::memory_order_relaxed);
    return true;
  }
  bool blocks() const { return blocks_.load(std::memory_order_relaxed); }   // at least one transfer has blocked

  static constexpr i64 kTellingBytes = 256 * KiB;   // a read of this size that did not block was served from memory
  enum class Reads : i64 { kUnknown, kCopy, kBlock };   // in ascending priority
  void saw_read(i64 bytes, bool blocked) {
    if (blocked && !only_copies_) reads_.store(Reads::kBlock, std::memory_order_relaxed);
    Reads unknown = Reads::kUnknown;
    if (bytes >= kTellingBytes) reads_.compare_exchange_strong(unknown, Reads::kCopy, std::memory_order_relaxed);
  }
  // The same for a read that consisted of several transfers since before().
  void saw_read(i64 bytes, const Probe& probe) { saw_read(bytes, took_long(probe) && switched(probe)); }
  Reads reads() const { return reads_.load(std::memory_order_relaxed); }

 private:
  static constexpr i64 kNoticeableNs = 200'000;   // blocking for less costs less than handing the transfer to a thread
  static bool took_long(const Probe& probe) { return now_ns() - probe.start_ns > kNoticeableNs; }
  static bool switched(const Probe& probe) { return probe.switches >= 0 && switches() > probe.switches; }
  // Voluntary context switches of this thread.
  static i64 switches() {
    struct rusage usage {};
    return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? i64{usage.ru_nvcsw} : 0;
  }
  bool only_copies_ = false;
  std::atomic<bool> suspected_{false}, blocks_{false};
  std::atomic<Reads> reads_{Reads::kUnknown};
};

// Probes the transfers of this scope. `detector` may be null. `closely`: as in before().
class BlockingProbe {
 public:
  explicit BlockingProbe(BlockingDetector* detector, bool closely = true)
      : detector_(detector), probe_(detector ? detector->before(closely) : BlockingDetector::Probe{}) {}
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
