// IndependentAccesses: whether a process has accessed files by independent calls, or through opens of its own. Libraries open a file once for all
// ranks and once for each, and take collective accesses for barriers between the two (engine/early.h). What some ranks do together through an open of
// theirs is not counted.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>

#include "base/types.h"

namespace mercutio {

class IndependentAccesses {
 public:
  static IndependentAccesses& of_process() {
    static IndependentAccesses accesses;
    return accesses;
  }
  // When one has ended, by any thread, before its caller knows. A flag: to count each would take a small access longer than its checks.
  void note() {
    if (!noted_.load()) noted_.store(true);
  }

  // Of one file.
  class Watch {
   public:
    explicit Watch(IndependentAccesses& accesses) : accesses_(accesses) {}
    // Whether one has ended since the last call. One thread at a time.
    bool take() {
      const i64 times = accesses_.times();
      return std::exchange(seen_, times) != times;
    }

   private:
    IndependentAccesses& accesses_;
    i64 seen_ = 0;
  };

 private:
  // How often it was asked after some had ended. What is noted between the two stores counts with those before.
  i64 times() {
    if (!noted_.load()) return times_.load();
    std::lock_guard lock(mutex_);
    if (noted_.load()) {
      times_.fetch_add(1);
      noted_.store(false);
    }
    return times_.load();
  }

  std::atomic<bool> noted_{false};
  std::atomic<i64> times_{0};
  std::mutex mutex_;   // of those who ask
};

}  // namespace mercutio
