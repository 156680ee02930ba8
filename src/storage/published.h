// The storage of a file whose writes others see after Storage::publish only (Coherence::kAfterPublish), as one rank uses it. It adds what
// MPI demands of every storage and such a one can't know by itself.
//
// Own writes. A rank reads what it has written, also without a sync. In a collective write other ranks move its bytes, so that a
// copy of them is kept here until they are published: kMostOwnBytes, counting the records. Beyond that a read of what may be among
// them is an error.
//
// Atomic mode. An access reads and publishes by itself, through an open that this rank has alone (`alone`), and under a lock that one
// rank holds at a time. Cost: an atomic access makes the file anew.
#pragma once

#include <functional>
#include <memory>

#include "storage/forwarding.h"

namespace mercutio {

class Published : public Forwarding {
 public:
  using TakeTurn = std::function<Result<std::unique_ptr<HeldLock>>()>;
  explicit Published(std::unique_ptr<Storage> inner) : Forwarding(std::move(inner)) {}

  // What is written to this storage is only noted as this rank's own. It refers to the file.
  virtual std::unique_ptr<Storage> own_writes() = 0;
  // The end of an own write that can't be noted.
  virtual void note_end(i64 end) = 0;

  // No access is under way. `alone` is null where the file is open on one rank only.
  virtual void begin_atomic(std::unique_ptr<Storage> alone, TakeTurn take_turn) = 0;
  virtual Status end_atomic() = 0;
};

inline constexpr i64 kMostOwnBytes = 64 * MiB;

std::unique_ptr<Published> make_published(std::unique_ptr<Storage> inner, i64 most_own_bytes = kMostOwnBytes);

}  // namespace mercutio
