// The storage of a file whose ranks take turns in atomic mode: where it has no byte-range locks that all of them see, or where writes are
// seen when they are published (storage/published.h). One rank has its turn at a time, whatever range it locks. That is what MPI
// demands: atomic mode orders the accesses of one collective open, and no others (MPI 14.6.1). Who gives out the turns: file/atomicity.cpp.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "storage/forwarding.h"

namespace mercutio {

class Turned : public Forwarding {
 public:
  using TakeTurn = std::function<Result<std::unique_ptr<HeldLock>>()>;
  explicit Turned(std::unique_ptr<Storage> inner) : Forwarding(std::move(inner)) {}

  // No access is under way. Until end_turns(), a lock is a turn.
  void begin_turns(TakeTurn take_turn) { take_turn_ = std::move(take_turn); }
  void end_turns() { take_turn_ = nullptr; }

  Status close() override {
    end_turns();
    return inner_->close();
  }
  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override {
    return takes_turns() ? take_turn_() : inner_->lock(begin, end, exclusive);
  }
  Result<std::unique_ptr<HeldLock>> try_lock(i64 begin, i64 end, bool exclusive) override {
    return takes_turns() ? lock(begin, end, exclusive) : inner_->try_lock(begin, end, exclusive);
  }
  std::optional<Result<i64>> move_locked(Direction direction, std::span<const IoPiece> pieces, i64 begin, i64 end) override {
    return takes_turns() ? std::nullopt : inner_->move_locked(direction, pieces, begin, end);
  }

 protected:
  bool takes_turns() const { return take_turn_ != nullptr; }

 private:
  TakeTurn take_turn_;
};

}  // namespace mercutio
