// Where started transfers run that block: a pool of threads, each running whole transfers. Threads start with the first transfer.
// A transfer that no thread took yet is run by whoever waits for it. After a fork the child, which has no threads, runs its
// transfers at once.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "base/thread_annotations.h"
#include "storage/storage.h"

namespace mercutio {

// How many transfers of a file are under way.
class TransferCount {
 public:
  void begin() { running_.fetch_add(1); }
  void end();
  void wait();   // until there is none

 private:
  std::atomic<i64> running_{0};
};

class TransferPool {
 public:
  explicit TransferPool(i64 threads);
  ~TransferPool();   // waits for what runs
  TransferPool(const TransferPool&) = delete;
  TransferPool& operator=(const TransferPool&) = delete;

  // Runs `move` once.
  std::unique_ptr<Transfer> start(std::function<Result<i64>()> move);

 private:
  class Threads;
  const std::unique_ptr<Threads> threads_;
};

// The pools of a driver, by their number of threads. A pool is shared by the files that want the same, and ends with the last of
// them.
class TransferPools {
 public:
  std::shared_ptr<TransferPool> of(i64 threads);

 private:
  std::mutex mutex_;
  std::map<i64, std::weak_ptr<TransferPool>> pools_ MERCUTIO_GUARDED_BY(mutex_);
};

}  // namespace mercutio
