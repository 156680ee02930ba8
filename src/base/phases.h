// PhaseClock divides the time of one access into phases. Exactly one phase runs at a time, so the phases add up to the time of
// the access. Entering a phase costs one clock reading while tracing, and nothing otherwise.
//
// A clock belongs to one operation, whichever thread drives it. Two threads never use it at the same time.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

#include "base/types.h"

namespace mercutio {

inline i64 now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

enum class Phase {
  kOwn,        // checking, planning, and everything without a phase of its own
  kArrive,     // until all ranks have entered the access
  kExchange,   // describing, sending and receiving data
  kWait,       // for other ranks in the middle of the exchange
  kCopy,       // between user's buffers, windows and messages
  kStorage,    // reading and writing, or waiting for started transfers
  kLock,       // acquiring byte-range locks
  kSieve,      // reading data only to write it back around new data
  kAgree,      // until all ranks have reported their status
};
inline constexpr std::size_t kPhases = 9;
inline constexpr std::array<const char*, kPhases> kPhaseNames = {"own", "arrive", "exchange", "wait", "copy", "storage", "lock", "sieve", "agree"};

class PhaseClock {
 public:
  using Spent = std::array<i64, kPhases>;

  void start(i64 at_ns) {
    running_ = true;
    last_ns_ = at_ns;
  }
  void stop() {
    if (running_) charge();
    running_ = false;
  }
  bool running() const { return running_; }
  // Returns the previous phase. Everything inside kSieve counts as kSieve.
  Phase enter(Phase next) {
    const Phase before = current_;
    if (!running_ || before == Phase::kSieve) return before;
    charge();
    current_ = next;
    ++switches_;
    return before;
  }
  // False if the clock is not running, or `back_to` is the current phase.
  bool leave(Phase back_to) {
    if (!running_ || current_ == back_to) return false;
    charge();
    current_ = back_to;
    return true;
  }
  i64 last_ns() const { return last_ns_; }  // of the last reading
  // The time since the last switch is charged to `phase` after all.
  void call_it(Phase phase) { current_ = phase; }
  // Time that was charged to one phase is charged to another one after all.
  void reassign(Phase from, Phase to, i64 ns) {
    if (!running_ || ns <= 0) return;
    spent_[static_cast<std::size_t>(from)] -= ns;
    spent_[static_cast<std::size_t>(to)] += ns;
  }
  i64 switches() const { return switches_; }
  // Number of transfers in flight. While there are any, waiting counts as kStorage.
  void transfers(i64 change) { transfers_ += change; }
  const Spent& spent() const { return spent_; }

 private:
  void charge() {
    const i64 now = now_ns();
    const Phase phase = current_ == Phase::kWait && transfers_ > 0 ? Phase::kStorage : current_;
    spent_[static_cast<std::size_t>(phase)] += now - last_ns_;
    last_ns_ = now;
  }

  Spent spent_{};
  i64 last_ns_ = 0, switches_ = 0, transfers_ = 0;
  Phase current_ = Phase::kOwn;
  bool running_ = false;
};

}  // namespace mercutio
