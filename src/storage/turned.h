// The storage of a file whose ranks take turns in atomic mode: where it has no byte-range locks that all of them see, or where writes are
// seen when they are published (storage/published.h). One rank has its turn at a time, whatever range it locks. That is what MPI
// demands: atomic mode orders the accesses of one collective open, and no others (MPI 14.6.1). Otherwise writes are not sieved. Who gives out the
// turns: file/atomicity.cpp.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "base/thread_annotations.h"
#include "storage/forwarding.h"

namespace mercutio {

class Turned : public Forwarding {
 public:
  using TakeTurn = std::function<Result<std::unique_ptr<HeldLock>>()>;
  explicit Turned(std::unique_ptr<Storage> inner) : Forwarding(std::move(inner)), traits_(inner_->traits()) { traits_.can_merge = false; }

  // Until end_turns(), a lock is a turn. Accesses of other threads may be under way: each goes on as it began.
  void begin_turns(TakeTurn take_turn) { set_turn(std::make_shared<const TakeTurn>(std::move(take_turn))); }
  void end_turns() { set_turn(nullptr); }

  Status close() override {
    end_turns();
    return inner_->close();
  }
  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override {
    const std::shared_ptr<const TakeTurn> take = turn();
    return take ? (*take)() : inner_->lock(begin, end, exclusive);
  }
  Result<std::unique_ptr<HeldLock>> try_lock(i64 begin, i64 end, bool exclusive) override {
    return turn() ? lock(begin, end, exclusive) : inner_->try_lock(begin, end, exclusive);
  }
  std::optional<Result<i64>> move_locked(Direction direction, std::span<const IoPiece> pieces, i64 begin, i64 end) override {
    return turn() ? std::nullopt : inner_->move_locked(direction, pieces, begin, end);
  }
  const Traits& traits() const override { return turn() ? inner_->traits() : traits_; }

 protected:
  std::shared_ptr<const TakeTurn> turn() const {   // null: ranks take no turns
    std::lock_guard lock(mutex_);
    return take_turn_;
  }

 private:
  void set_turn(std::shared_ptr<const TakeTurn> take) {
    std::lock_guard lock(mutex_);
    take_turn_ = std::move(take);
  }
  mutable std::mutex mutex_;
  std::shared_ptr<const TakeTurn> take_turn_ MERCUTIO_GUARDED_BY(mutex_);
  Traits traits_;   // without turns: a lock that other ranks don't see keeps none of them from writing what a merge writes back
};

}  // namespace mercutio
