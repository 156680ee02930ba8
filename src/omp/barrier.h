// A barrier at which the last arriving thread executes a function before all continue. A thread polls briefly and then sleeps in
// the kernel. Cost: one atomic addition per thread, one wake-up.
#pragma once

#include <atomic>

#include "base/types.h"

namespace mercutio::omp {

class Barrier {
 public:
  explicit Barrier(i64 threads) : threads_(threads) {}

  // What any thread did before is visible to `last`, and what `last` did is visible to all threads afterwards. `last` must not
  // throw.
  template <class Last>
  void arrive(Last&& last) {
    const int generation = generation_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < threads_) {
      generation_.wait(generation, std::memory_order_acquire);
      return;
    }
    last();
    arrived_.store(0, std::memory_order_relaxed);
    generation_.store(generation + 1, std::memory_order_release);
    generation_.notify_all();
  }

 private:
  const i64 threads_;
  std::atomic<i64> arrived_{0};
  std::atomic<int> generation_{0};  // int, because a futex needs it
};

}  // namespace mercutio::omp
