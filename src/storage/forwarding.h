// A storage that forwards every call to another one: the base of decorators that change a few calls. A decorator that changes read()
// or write() must also change start() and move_locked(). scripts/tidy.py checks that no call is missing here.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "storage/storage.h"

namespace mercutio {

class Forwarding : public Storage {
 public:
  explicit Forwarding(std::unique_ptr<Storage> inner) : inner_(std::move(inner)) {}
  Result<i64> read(std::span<const IoPiece> pieces) override { return inner_->read(pieces); }
  Result<i64> write(std::span<const IoPiece> pieces) override { return inner_->write(pieces); }
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override {
    return inner_->start(direction, std::move(pieces));
  }
  Result<i64> size() override { return inner_->size(); }
  i64 known_size() const override { return inner_->known_size(); }
  Status set_size(i64 bytes) override { return inner_->set_size(bytes); }
  Status preallocate(i64 bytes) override { return inner_->preallocate(bytes); }
  Status sync() override { return inner_->sync(); }
  Status flush() override { return inner_->flush(); }
  Status refresh() override { return inner_->refresh(); }
  Status publish(bool keep, bool last) override { return inner_->publish(keep, last); }
  Status begin_turn(i64 turn) override { return inner_->begin_turn(turn); }
  Status close() override { return inner_->close(); }
  const CacheStats* cache_stats() const override { return inner_->cache_stats(); }
  void trace_to(TraceSink* sink) override { inner_->trace_to(sink); }
  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override { return inner_->lock(begin, end, exclusive); }
  Result<std::unique_ptr<HeldLock>> try_lock(i64 begin, i64 end, bool exclusive) override { return inner_->try_lock(begin, end, exclusive); }
  std::optional<Result<i64>> move_locked(Direction direction, std::span<const IoPiece> pieces, i64 begin, i64 end) override {
    return inner_->move_locked(direction, pieces, begin, end);
  }
  void will_write(std::span<const IoPiece> ranges) override { inner_->will_write(ranges); }
  void give_back_locks(bool of_all) override { inner_->give_back_locks(of_all); }
  std::unique_ptr<HeldLock> exclude_other_writers(bool promised) override { return inner_->exclude_other_writers(promised); }
  const Traits& traits() const override { return inner_->traits(); }
  Layout layout() override { return inner_->layout(); }
  Result<std::vector<std::byte>> shared_handle() override { return inner_->shared_handle(); }

 protected:
  const std::unique_ptr<Storage> inner_;
};

}  // namespace mercutio
