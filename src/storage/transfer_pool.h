// A pool of threads for started transfers that block. Each thread runs one transfer at a time. The threads start with the first
// transfer. A thread that waits for a transfer that has not begun runs it itself. After a fork the child has no pool threads and
// runs its transfers synchronously.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "base/thread_annotations.h"
#include "storage/storage.h"

namespace mercutio {

// Counts the transfers of a file in flight.
class TransferCount {
 public:
  // Counts one until the last copy of this is gone; it keeps what owns the count.
  using Running = std::shared_ptr<void>;
  static Running begin(std::shared_ptr<TransferCount> count);
  void wait();   // until the count is zero. In a forked child no transfer is left to wait for

 private:
  void end();
  const pid_t owner_ = ::getpid();
  std::atomic<i64> running_{0};
};

class TransferPool {
 public:
  explicit TransferPool(i64 threads);
  ~TransferPool();   // waits for running transfers
  TransferPool(const TransferPool&) = delete;
  TransferPool& operator=(const TransferPool&) = delete;

  // Runs `move` once.
  std::unique_ptr<Transfer> start(std::function<Result<i64>()> move);

 private:
  class Threads;
  const std::unique_ptr<Threads> threads_;
};

// The pools of a driver, by number of threads. Files with the same number share a pool, which ends with the last of them.
class TransferPools {
 public:
  std::shared_ptr<TransferPool> of(i64 threads);

 private:
  std::mutex mutex_;
  std::map<i64, std::weak_ptr<TransferPool>> pools_ MERCUTIO_GUARDED_BY(mutex_);
};

}  // namespace mercutio
