// A barrier whose last arriver does something for all before it lets them go. Waiting is a few looks, then sleep in the
// kernel. Cost: one atomic addition a thread, one wake-up.
#pragma once

#include <atomic>

#include "base/types.h"

namespace mercutio::omp {

class Barrier {
 public:
  explicit Barrier(i64 threads) : threads_(threads) {}

  // What any thread did before, `last` sees, and what `last` did all see afterwards. `last` doesn't throw.
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
  std::atomic<int> generation_{0};  // an int is what a futex can wait for
};

}  // namespace mercutio::omp
