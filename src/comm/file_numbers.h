// FileNumbers: the numbers that open files of a process hold, such as ranges of tags and parts of shared memory. All ranks of a communicator hold the
// same numbers for a file. Rank 0 draws them and the other ranks claim them.
//
// Threads may open and close files of the same ranks at the same time, and in another order on each rank. So a number that rank 0 has free may
// still be in use on another rank. Thread-safe. Cost: O(log of the numbers in use), and a step for each number in use that is passed over.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>

#include "base/thread_annotations.h"
#include "base/types.h"

namespace mercutio {

class FileNumbers {
 public:
  // kLowest: the lowest free number. kInTurn: the next free one after the last drawn, so that a number is used again as late as possible.
  enum class Order { kLowest, kInTurn };

  FileNumbers(i64 count, Order order) : count_(count), order_(order) {}

  // On rank 0. Nothing: all are in use.
  std::optional<i64> draw() {
    std::lock_guard guard(mutex_);
    for (i64 distance = 0; distance < count_; ++distance) {
      const i64 number = (next_ + distance) % count_;
      if (!used_.insert(number).second) continue;
      next_ = number + 1;
      return number;
    }
    return std::nullopt;
  }
  // On the other ranks. False: the number is still in use here.
  bool claim(i64 number) {
    std::lock_guard guard(mutex_);
    return used_.insert(number).second;
  }
  void give_back(i64 number) {
    std::lock_guard guard(mutex_);
    used_.erase(number);
    if (order_ == Order::kLowest) next_ = std::min(next_, number);
  }

 private:
  const i64 count_;
  const Order order_;
  std::mutex mutex_;
  std::set<i64> used_ MERCUTIO_GUARDED_BY(mutex_);
  i64 next_ MERCUTIO_GUARDED_BY(mutex_) = 0;   // in turn: one past the number that was drawn last; lowest: all below it are in use
};

}  // namespace mercutio
