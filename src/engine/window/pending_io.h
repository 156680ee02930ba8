// PendingIo: the transfers of an aggregator between its windows and the file. If the storage blocks, they overlap with the
// exchange. Inside engine/ only.
//
// A copy into or out of the page cache takes less time than handing it to a thread. Therefore transfers run synchronously in
// start() until one has blocked. The following ones use Storage::start: the next window is filled, or the previous one distributed,
// while the storage works.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "engine/io/engine_file.h"
#include "storage/blocking_detector.h"

namespace mercutio {

class PendingIo {
 public:
  struct Completed {
    i64 window = 0;
    IoPiece piece;
    Result<i64> moved;   // less than the window only for a read at the end of the file
  };

  PendingIo(const EngineFile& file, Direction direction) : file_(&file), direction_(direction) {
    if (file.blocking && file.blocking->expects_copies()) blocking_.expect_copies();
  }
  ~PendingIo();   // waits for what is pending
  PendingIo(const PendingIo&) = delete;
  PendingIo& operator=(const PendingIo&) = delete;

  // Whether a transfer started now overlaps with the caller.
  bool overlaps() const { return blocking_.blocks(); }
  bool empty() const { return pending_.empty(); }
  i64 first_window() const { return pending_.front().window; }   // number of the window of the oldest transfer
  i64 last_window() const { return pending_.back().window; }

  // Moves the piece, which belongs to the window. Its memory must live until the transfer is complete or this object is destroyed.
  // With a `guard` the transfer runs synchronously, because a rank must never block on a lock while it holds one that it would
  // release later.
  void start(i64 window, IoPiece piece, std::unique_ptr<HeldLock> guard = nullptr);
  // Returns the oldest transfer if it is complete.
  std::optional<Completed> next_completed();

 private:
  struct Pending {
    i64 window = 0;
    IoPiece piece;
    i64 start_ns = 0;
    std::optional<Result<i64>> moved;        // set if already complete
    std::unique_ptr<Transfer> transfer;      // last member: its destructor waits
  };

  const EngineFile* file_;
  Direction direction_;
  BlockingDetector blocking_;
  std::deque<Pending> pending_;
};

}  // namespace mercutio
