// PendingIo: an aggregator's transfers between its windows and the file, which go on beside the exchange where the storage
// makes its callers wait. Inside engine/ only.
//
// A transfer that only copies into or out of the page cache is over sooner than a thread could be told of it, so the first
// ones of an operation are carried out at once. As soon as one has slept in the kernel, the following are started
// (Storage::start): the next window is filled, or the one before is handed out, while the storage is at work.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "engine/blocking_detector.h"
#include "engine/engine.h"

namespace mercutio {

class PendingIo {
 public:
  struct Completed {
    i64 window = 0;
    IoPiece piece;
    Result<i64> moved;   // short only for a read at end of file
  };

  PendingIo(const EngineFile& file, Direction direction) : file_(&file), direction_(direction) {}

  // Whether a transfer started now would go on beside the caller.
  bool overlaps() const { return blocking_.blocks(); }
  bool empty() const { return pending_.empty(); }
  i64 first_window() const { return pending_.front().window; }   // of the oldest
  i64 last_window() const { return pending_.back().window; }

  // Moves the piece, of window number `window`; its memory must live until it has completed, or this object is gone. Under a
  // `guard` it is carried out at once: who waits for a lock must not hold one that only its own next step gives back.
  void start(i64 window, IoPiece piece, std::unique_ptr<HeldLock> guard = nullptr);
  // The oldest one, if it is over.
  std::optional<Completed> next_completed();

 private:
  struct Pending {
    i64 window = 0;
    IoPiece piece;
    i64 start_ns = 0;
    bool absorbed = false;   // by a buffer of the storage
    std::optional<Result<i64>> moved;        // over already
    std::unique_ptr<Transfer> transfer;      // last: its destruction waits
  };

  const EngineFile* file_;
  Direction direction_;
  BlockingDetector blocking_;
  std::deque<Pending> pending_;
};

}  // namespace mercutio
