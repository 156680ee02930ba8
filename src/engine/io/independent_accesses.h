// IndependentAccesses: how often a process has accessed files by independent calls, or through opens of its own. Libraries open a file once for all
// ranks and once for each, and take collective accesses for barriers between the two (engine/early.h). What some ranks do together through an open of
// theirs is not counted.
#pragma once

#include <atomic>
#include <utility>

#include "base/types.h"

namespace mercutio {

class IndependentAccesses {
 public:
  static IndependentAccesses& of_process() {
    static IndependentAccesses accesses;
    return accesses;
  }
  // When one has ended, by any thread, before its caller knows.
  void note() { times_.fetch_add(1, std::memory_order_relaxed); }

  // Of one file.
  class Watch {
   public:
    explicit Watch(const IndependentAccesses& accesses) : accesses_(accesses) {}
    // Whether one has ended since the last call. One thread at a time.
    bool take() {
      const i64 times = accesses_.times_.load(std::memory_order_relaxed);
      return std::exchange(seen_, times) != times;
    }

   private:
    const IndependentAccesses& accesses_;
    i64 seen_ = 0;
  };

 private:
  std::atomic<i64> times_{0};
};

}  // namespace mercutio
