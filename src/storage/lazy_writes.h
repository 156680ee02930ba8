// Small writes of a file that is only written, kept until all ranks write theirs together: for storage where each write waits for a
// server's disk (Traits::writes_wait). Many small pieces of several ranks become few large requests of the aggregators (lazy collective
// writing; after the two-stage write-behind of Liao et al. 2007). MPI lets others see a write at the writer's next sync or close
// (MPI 14.6.1). What is written twice is kept once.
//
// Whatever else is called writes out first what is kept, on this rank alone, but for a large write: that covers what is kept in its places.
// A small write for which there is no more room, or that comes ten seconds after the first, writes out, too. The Error of a kept write is
// that of the call which writes it out; the data is lost then. A write for which no memory can be had is not kept, and none is needed to
// write out what is kept.
//
// Cost: one copy of the data, and O(log n) for each piece.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/attempt.h"
#include "base/ranges.h"
#include "base/thread_annotations.h"
#include "storage/forwarding.h"

namespace mercutio {

class LazyWrites final : public Forwarding {
 public:
  LazyWrites(std::unique_ptr<Storage> inner, i64 most_bytes) : Forwarding(std::move(inner)), most_bytes_(most_bytes) {}
  ~LazyWrites() override {
    (void)attempt([this] { return LazyWrites::flush(); });
  }

  // What was kept, in the order of the file. Until written() is called, writes to the same places wait.
  struct Kept {
    std::unique_ptr<std::byte[]> memory;
    std::vector<IoPiece> pieces;
    i64 bytes = 0;
  };
  Kept take();   // changes nothing if memory runs out
  Status write_alone(const Kept& kept);
  void written();

  Result<i64> read(std::span<const IoPiece> pieces) override;
  Result<i64> write(std::span<const IoPiece> pieces) override;
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override;
  std::optional<Result<i64>> move_locked(Direction direction, std::span<const IoPiece> pieces, i64 begin, i64 end) override;
  Result<i64> size() override;
  Status set_size(i64 bytes) override;
  Status sync() override;
  Status flush() override;
  Status refresh() override;
  Status close() override;
  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override;
  Result<std::unique_ptr<HeldLock>> try_lock(i64 begin, i64 end, bool exclusive) override;
  const CacheStats* cache_stats() const override { return &stats_; }
  void trace_to(TraceSink* sink) override;

 private:
  struct Place {   // in the memory
    i64 at = 0;
    Place moved(i64 by) const { return {at + by}; }
    bool operator==(const Place&) const = default;
  };

  bool keeps(std::span<const IoPiece> pieces) MERCUTIO_REQUIRES(mutex_);
  Result<bool> keep(std::span<const IoPiece> pieces) MERCUTIO_REQUIRES(mutex_);   // false: there is no memory
  Status forget(std::span<const IoPiece> pieces) MERCUTIO_REQUIRES(mutex_);
  bool overlaps_taken(std::span<const IoPiece> pieces) MERCUTIO_REQUIRES(mutex_);
  void forget_all() MERCUTIO_REQUIRES(mutex_);
  void trace_kept() MERCUTIO_REQUIRES(mutex_);
  Status write_out() MERCUTIO_REQUIRES(mutex_);
  template <class Take>
  Result<std::unique_ptr<HeldLock>> unkept(Take take);

  const i64 most_bytes_;
  std::mutex mutex_;
  std::condition_variable written_;
  std::unique_ptr<std::byte[]> memory_ MERCUTIO_GUARDED_BY(mutex_);   // null: nothing is kept
  i64 used_ MERCUTIO_GUARDED_BY(mutex_) = 0;
  i64 oldest_ns_ MERCUTIO_GUARDED_BY(mutex_) = 0;
  Ranges<Place> ranges_ MERCUTIO_GUARDED_BY(mutex_);
  std::vector<IoPiece> taken_ MERCUTIO_GUARDED_BY(mutex_);   // ascending
  std::atomic<i64> locks_{0};   // meanwhile nothing is kept: locks are taken for others to see what was done under them
  i64 calls_ MERCUTIO_GUARDED_BY(mutex_) = 0;                // not yet traced
  TraceSink* sink_ MERCUTIO_GUARDED_BY(mutex_) = nullptr;
  CacheStats stats_;
};

}  // namespace mercutio
