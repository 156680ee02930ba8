// Where calls of a server's storage wait until the gate is opened.
#pragma once

#include <condition_variable>
#include <mutex>

#include "storage/forwarding.h"

namespace mercutio::remote {

struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = true;
  bool holds_the_next = true;   // while it is closed; those who wait already stay
  int waiting = 0;

  void pass() {
    std::unique_lock guard(mutex);
    if (!holds_the_next) return;
    ++waiting;
    changed.notify_all();
    changed.wait(guard, [&] { return open; });
    --waiting;
  }
  void set(bool yes) {
    std::lock_guard guard(mutex);
    open = yes;
    changed.notify_all();
  }
  void hold_the_next(bool yes) {
    std::lock_guard guard(mutex);
    holds_the_next = yes;
  }
  int count() {
    std::lock_guard guard(mutex);
    return waiting;
  }
  void await_somebody() {
    std::unique_lock guard(mutex);
    changed.wait(guard, [&] { return waiting > 0; });
  }
};

// Writes wait at the gate.
class Gated final : public Forwarding {
 public:
  Gated(std::unique_ptr<Storage> inner, Gate& gate) : Forwarding(std::move(inner)), gate_(gate) {}
  Result<i64> write(std::span<const IoPiece> pieces) override {
    gate_.pass();
    return inner_->write(pieces);
  }
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override {
    return Storage::start(direction, std::move(pieces));   // by the calls above
  }

 private:
  Gate& gate_;
};

}  // namespace mercutio::remote
