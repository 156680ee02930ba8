#include "storage/deferred.h"

#include <atomic>
#include <mutex>
#include <utility>

#include "base/thread_annotations.h"
#include "storage/finished_transfer.h"

namespace mercutio {
namespace {

class Deferred final : public Storage {
 public:
  Deferred(std::unique_ptr<Storage> inner, OpenLater open_later, DeferredFacts facts)
      : open_later_(std::move(open_later)), facts_(std::move(facts)), inner_(std::move(inner)), open_(inner_.get()) {
    facts_.traits.metadata_is_remote = true;
  }

  Result<i64> read(std::span<const IoPiece> pieces) override {
    MERCUTIO_LET(Storage* const storage, opened());
    return storage->read(pieces);
  }
  Result<i64> write(std::span<const IoPiece> pieces) override {
    MERCUTIO_LET(Storage* const storage, opened());
    return storage->write(pieces);
  }
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override {
    auto storage = opened();
    if (!storage) return finished_transfer(std::move(storage).error());
    return (*storage)->start(direction, std::move(pieces));
  }
  std::optional<Result<i64>> move_locked(Direction direction, std::span<const IoPiece> pieces, i64 begin, i64 end) override {
    auto storage = opened();
    if (!storage) return Result<i64>(std::move(storage).error());
    return (*storage)->move_locked(direction, pieces, begin, end);
  }

  Result<i64> size() override {
    MERCUTIO_LET(Storage* const storage, opened());
    return storage->size();
  }
  i64 known_size() const override { return open_ ? open_.load()->known_size() : 0; }
  Status set_size(i64 bytes) override {
    MERCUTIO_LET(Storage* const storage, opened());
    return storage->set_size(bytes);
  }
  Status preallocate(i64 bytes) override {
    MERCUTIO_LET(Storage* const storage, opened());
    return storage->preallocate(bytes);
  }

  Status sync() override { return open_ ? open_.load()->sync() : ok_status(); }
  Status flush() override { return open_ ? open_.load()->flush() : ok_status(); }
  Status refresh() override { return open_ ? open_.load()->refresh() : ok_status(); }
  // Rank 0, which publishes, has it open. Who begins a turn is about to write.
  Status publish(bool keep, bool last) override { return open_ ? open_.load()->publish(keep, last) : ok_status(); }
  Status begin_turn(i64 turn) override {
    MERCUTIO_LET(Storage* const storage, opened());
    return storage->begin_turn(turn);
  }
  Status close() override { return open_ ? open_.load()->close() : ok_status(); }

  const CacheStats* cache_stats() const override { return open_ ? open_.load()->cache_stats() : nullptr; }
  void trace_to(TraceSink* sink) override {
    std::lock_guard guard(mutex_);
    sink_ = sink;
    if (inner_) inner_->trace_to(sink);
  }
  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override {
    MERCUTIO_LET(Storage* const storage, opened());
    return storage->lock(begin, end, exclusive);
  }
  Result<std::unique_ptr<HeldLock>> try_lock(i64 begin, i64 end, bool exclusive) override {
    MERCUTIO_LET(Storage* const storage, opened());
    return storage->try_lock(begin, end, exclusive);
  }
  void will_write(std::span<const IoPiece> ranges) override {
    if (auto storage = opened()) (*storage)->will_write(ranges);
  }
  void give_back_locks(bool of_all) override {
    if (open_) open_.load()->give_back_locks(of_all);
  }
  std::unique_ptr<HeldLock> exclude_other_writers(bool promised) override {
    auto storage = opened();
    return storage ? (*storage)->exclude_other_writers(promised) : nullptr;
  }

  const Traits& traits() const override { return facts_.traits; }
  Layout layout() override { return open_ ? open_.load()->layout() : facts_.layout; }
  Result<std::vector<std::byte>> shared_handle() override {
    MERCUTIO_LET(Storage* const storage, opened());
    return storage->shared_handle();
  }

 private:
  Result<Storage*> opened() {
    if (Storage* const there = open_) return there;
    std::lock_guard guard(mutex_);
    if (inner_) return inner_.get();
    MERCUTIO_LET(inner_, open_later_());
    if (sink_) inner_->trace_to(sink_);
    open_ = inner_.get();
    return inner_.get();
  }

  const OpenLater open_later_;
  DeferredFacts facts_;
  std::mutex mutex_;
  std::unique_ptr<Storage> inner_ MERCUTIO_GUARDED_BY(mutex_);
  TraceSink* sink_ MERCUTIO_GUARDED_BY(mutex_) = nullptr;
  std::atomic<Storage*> open_;   // inner_, once it is there
};

}  // namespace

std::unique_ptr<Storage> make_deferred(std::unique_ptr<Storage> inner, OpenLater open_later, DeferredFacts facts) {
  return std::make_unique<Deferred>(std::move(inner), std::move(open_later), std::move(facts));
}

}  // namespace mercutio
