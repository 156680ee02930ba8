// One mutex guards everything. It is held while a thread waits for a request. A read that finds it taken, and no write kept, goes to
// the storage. It waits for the mutex if its data was requested in advance. A write past the cache begins under the mutex and is counted until it ends; meanwhile nothing is read in
// advance, as that could be from before the write. Whoever holds a lock through the cache moves data at once: locks are taken for others
// to see what was done under them.
#include "storage/cache.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "base/thread_annotations.h"
#include "storage/finished_transfer.h"
#include "storage/forwarding.h"
#include "storage/pages.h"
#include "storage/read_ahead.h"

namespace mercutio {
namespace {

class Cache final : public Forwarding {
 public:
  Cache(std::unique_ptr<Storage> inner, const CachePolicy& policy) : Forwarding(std::move(inner)), file_{*inner_, policy} {}
  ~Cache() override {
    std::lock_guard guard(mutex_);
    (void)writes_.drain();
  }

  Result<i64> read(std::span<const IoPiece> pieces) override;
  Result<i64> write(std::span<const IoPiece> pieces) override;
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override;
  std::optional<Result<i64>> move_locked(Direction direction, std::span<const IoPiece> pieces, i64 begin, i64 end) override;

  Status flush() override {
    Status written = flush_writes();
    Status flushed = inner_->flush();
    return written ? flushed : written;
  }
  Status refresh() override {
    MERCUTIO_TRY(flush_writes());
    return inner_->refresh();
  }
  Status begin_turn(i64 turn) override {
    MERCUTIO_TRY(flush_writes());
    return inner_->begin_turn(turn);
  }
  Result<i64> size() override {
    MERCUTIO_TRY(write_out());
    return inner_->size();
  }
  Status set_size(i64 bytes) override {
    {
      std::lock_guard guard(mutex_);
      forget_reads();
      MERCUTIO_TRY(writes_.drain());
    }
    return inner_->set_size(bytes);
  }
  Status preallocate(i64 bytes) override {
    MERCUTIO_TRY(write_out());
    return inner_->preallocate(bytes);
  }
  Status sync() override {
    Status written = flush_writes();
    Status synced = inner_->sync();
    return written ? synced : written;
  }
  Status close() override {
    Status written = flush_writes();
    {
      std::lock_guard guard(mutex_);
      writes_.discard();   // lost, if they could not be written: the Error says so
      reads_.discard();
    }
    Status closed = inner_->close();
    return written ? closed : written;
  }
  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override {
    return uncached([&] { return inner_->lock(begin, end, exclusive); });
  }
  Result<std::unique_ptr<HeldLock>> try_lock(i64 begin, i64 end, bool exclusive) override {
    return uncached([&] { return inner_->try_lock(begin, end, exclusive); });
  }
  // Where each write is a request, it is traced by who makes it.
  const CacheStats* cache_stats() const override { return file_.policy.pipelined ? nullptr : &file_.stats; }
  void trace_to(TraceSink* sink) override {
    std::lock_guard guard(mutex_);
    if (!file_.policy.pipelined) file_.sink = sink;
  }

 private:
  class Writing;

  // A lock, while which nothing is kept.
  template <class Take>
  Result<std::unique_ptr<HeldLock>> uncached(Take take);

  bool keeps(std::span<const IoPiece> pieces, i64 bytes) MERCUTIO_REQUIRES(mutex_) { return writes_.takes(pieces, bytes) && locks_ == 0; }
  Result<i64> keep(std::span<const IoPiece> pieces, i64 bytes) MERCUTIO_REQUIRES(mutex_);
  Result<Counted> begin_uncached_write(std::span<const IoPiece> pieces) MERCUTIO_REQUIRES(mutex_);
  std::optional<i64> serve(std::span<const IoPiece> pieces, i64 bytes) MERCUTIO_REQUIRES(mutex_);
  bool fetch_page(std::span<const IoPiece> pieces) MERCUTIO_REQUIRES(mutex_);
  bool was_requested(std::span<const IoPiece> pieces) const {
    const CacheRange range = range_of(pieces);
    return requested_first_.load(std::memory_order_relaxed) <= range.first && range.last <= requested_last_.load(std::memory_order_relaxed);
  }
  void note_requests() MERCUTIO_REQUIRES(mutex_) {
    const CacheRange range = reads_.requested();
    requested_first_.store(range.first, std::memory_order_relaxed);
    requested_last_.store(range.last, std::memory_order_relaxed);
  }
  void forget_reads() MERCUTIO_REQUIRES(mutex_) {
    reads_.forget();
    pages_.forget();
  }
  Status write_out() {
    std::lock_guard guard(mutex_);
    return writes_.drain();
  }
  Status flush_writes() {
    std::lock_guard guard(mutex_);
    forget_reads();
    return writes_.finish_all();
  }

  std::mutex mutex_;
  std::atomic<i64> requested_first_{0}, requested_last_{0};   // what was requested in advance lies in it, for threads without the mutex
  // Both are counted before the mutex is taken or under it, so that whoever has it afterwards knows.
  std::atomic<i64> locks_{0}, uncached_writes_{0};        // the latter under way past the cache
  CachedFile file_;                                       // its sink is guarded by mutex_
  WriteBehind writes_{file_};                             // guarded by mutex_, except empty()
  ReadAhead reads_ MERCUTIO_GUARDED_BY(mutex_){file_, writes_};
  Pages pages_ MERCUTIO_GUARDED_BY(mutex_);
};

Result<i64> Cache::write(std::span<const IoPiece> pieces) {
  const i64 bytes = bytes_of(pieces);
  std::unique_lock lock(mutex_);
  MERCUTIO_HELD(mutex_);
  if (keeps(pieces, bytes)) return keep(pieces, bytes);
  MERCUTIO_LET(const Counted under_way, begin_uncached_write(pieces));
  lock.unlock();
  return inner_->write(pieces);
}

Result<i64> Cache::keep(std::span<const IoPiece> pieces, i64 bytes) {
  reads_.forget(range_of(pieces));
  MERCUTIO_LET(const i64 kept, writes_.keep(pieces, bytes));
  pages_.wrote(pieces);
  return kept;
}

Result<Counted> Cache::begin_uncached_write(std::span<const IoPiece> pieces) {
  MERCUTIO_TRY(writes_.begin());
  MERCUTIO_TRY(writes_.wait_for_overlaps(pieces));
  reads_.forget(range_of(pieces));
  pages_.forget();   // the operation may fail
  return Counted(uncached_writes_);
}

Result<i64> Cache::read(std::span<const IoPiece> pieces) {
  const i64 bytes = bytes_of(pieces);
  if (file_.policy.read_bytes > 0) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock && was_requested(pieces)) lock.lock();
    if (lock) {
      MERCUTIO_HELD(mutex_);
      const auto moved = serve(pieces, bytes);
      if (file_.policy.pipelined) note_requests();
      if (moved) return *moved;
    }
  }
  const bool keeps = !writes_.empty();
  if (keeps) {
    std::lock_guard guard(mutex_);
    MERCUTIO_TRY(writes_.wait_for_overlaps(pieces));
  }
  Result<i64> moved = inner_->read(pieces);
  if (!keeps || !moved || *moved == bytes) return moved;
  MERCUTIO_TRY(write_out());   // what is kept beyond the end makes a hole of what lies before it
  return inner_->read(pieces);
}

std::optional<i64> Cache::serve(std::span<const IoPiece> pieces, i64 bytes) {
  if (bytes == 0) return std::nullopt;
  if (locks_ > 0 || uncached_writes_ > 0) {
    reads_.passes(pieces);
    return std::nullopt;
  }
  const bool pages = file_.policy.pages;
  if (pages && !reads_.serves(pieces) && pages_.read(pieces)) return bytes;
  if (const auto moved = reads_.read(pieces, bytes)) return moved;
  return pages && fetch_page(pieces) ? std::optional(bytes) : std::nullopt;
}

// False: it is not worth it, or the page ends before the pieces do.
bool Cache::fetch_page(std::span<const IoPiece> pieces) {
  const i64 begin = pages_.wanted(pieces);
  if (begin < 0 || !writes_.drain()) return false;
  std::vector<std::byte> bytes(static_cast<size_t>(kPageBytes));
  const IoPiece whole{begin, bytes.data(), kPageBytes};
  const Result<i64> got = inner_->read(std::span(&whole, 1));
  if (!got) return false;
  bytes.resize(static_cast<size_t>(*got));
  pages_.keep(begin, std::move(bytes));
  return pages_.read(pieces);
}

class Cache::Writing final : public Transfer {
 public:
  Writing(std::unique_ptr<Transfer> inner, Counted under_way) : inner_(std::move(inner)), under_way_(std::move(under_way)) {}
  ~Writing() override { (void)wait(); }
  bool done() override {
    if (!inner_->done()) return false;
    under_way_.reset();
    return true;
  }
  Result<i64> wait() override {
    Result<i64> moved = inner_->wait();
    under_way_.reset();
    return moved;
  }

 private:
  std::unique_ptr<Transfer> inner_;
  std::optional<Counted> under_way_;
};

// Without room in the cache, data is written from the caller's memory, which stays valid.
std::unique_ptr<Transfer> Cache::start(Direction direction, std::vector<IoPiece> pieces) {
  std::optional<Counted> under_way;
  {
    std::lock_guard guard(mutex_);
    const i64 bytes = bytes_of(pieces);
    if (direction == Direction::kWrite && !writes_.joins() && keeps(pieces, bytes)) {
      if (Status done = writes_.finish_done(); !done) return finished_transfer(done.error());
      if (writes_.has_room(bytes)) return finished_transfer(keep(pieces, bytes));
    }
    if (direction == Direction::kRead) {
      if (Status drained = writes_.drain(); !drained) return finished_transfer(drained.error());
    } else {
      auto begun = begin_uncached_write(pieces);
      if (!begun) return finished_transfer(begun.error());
      under_way.emplace(std::move(*begun));
    }
  }
  std::unique_ptr<Transfer> started = inner_->start(direction, std::move(pieces));
  if (direction == Direction::kRead) return started;
  return std::make_unique<Writing>(std::move(started), std::move(*under_way));
}

std::optional<Result<i64>> Cache::move_locked(Direction direction, std::span<const IoPiece> pieces, i64 begin, i64 end) {
  std::optional<Counted> under_way;
  {
    std::lock_guard guard(mutex_);
    forget_reads();
    if (Status written = writes_.drain(); !written) return Result<i64>(std::move(written).error());
    if (direction == Direction::kWrite) under_way.emplace(uncached_writes_);
  }
  return inner_->move_locked(direction, pieces, begin, end);
}

template <class Take>
Result<std::unique_ptr<HeldLock>> Cache::uncached(Take take) {
  Counted counted(locks_);
  {
    std::lock_guard guard(mutex_);
    forget_reads();
  }
  Status written = write_out(), flushed = inner_->flush();
  MERCUTIO_TRY(written);
  MERCUTIO_TRY(flushed);
  return CountedLock::of(std::move(counted), take);
}

}  // namespace

CachePolicy cache_policy(const Traits& traits, i64 write_bytes, i64 read_bytes) {
  CachePolicy policy;
  policy.write_bytes = write_bytes;
  policy.read_bytes = read_bytes;
  policy.pipelined = traits.remote_cluster;
  if (!policy.pipelined) {
    policy.join_bytes = write_bytes;
    return policy;
  }
  policy.pages = true;
  policy.streak = 1;
  policy.keeps_failed = false;
  return policy;
}

std::unique_ptr<Storage> make_cached(std::unique_ptr<Storage> inner, const CachePolicy& policy) {
  return std::make_unique<Cache>(std::move(inner), policy);
}

}  // namespace mercutio
