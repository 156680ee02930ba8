// Byte-range locks between threads: many readers or one writer for each byte. Conflicting requests are granted in the order of their
// arrival, so no thread starves. Cost: O(held + waiting) per operation, at most one of each per thread.
#pragma once

#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>

#include "base/assert.h"
#include "base/thread_annotations.h"
#include "base/types.h"

namespace mercutio {

class RangeLocks {
 public:
  struct Range {
    i64 begin = 0;
    i64 end = 0;
    bool exclusive = false;
    bool granted = false;
  };
  using Ranges = std::list<Range>;
  using Ticket = Ranges::iterator;

  // Blocks until no conflicting range is held or was requested earlier.
  Ticket acquire(i64 begin, i64 end, bool exclusive);
  // The same, but returns nothing instead of waiting.
  std::optional<Ticket> try_acquire(i64 begin, i64 end, bool exclusive);

  // The ranges that threads hold now.
  i64 granted() const;

  // Releases the range. Calls `give_back(begin, end)`, inside the critical section, for each part of it that no other granted range
  // covers: the parts to release of a lock that the threads of the process share. Allocates nothing.
  template <class GiveBack>
  void release(Ticket ticket, GiveBack give_back) {
    {
      std::lock_guard guard(mutex_);
      MERCUTIO_ASSERT(ticket->granted);
      for (i64 at = ticket->begin; at < ticket->end;) {
        const Stretch next = stretch_at(at, ticket);
        if (!next.covered) give_back(at, next.end);
        at = next.end;
      }
      ranges_.erase(ticket);
    }
    changed_.notify_all();
  }
  void release(Ticket ticket) {
    release(ticket, [](i64, i64) {});
  }

 private:
  bool is_free(Ticket ticket) MERCUTIO_REQUIRES(mutex_);
  // The bytes of a range from `at` on that another granted range covers, or that none does.
  struct Stretch {
    i64 end;
    bool covered;
  };
  Stretch stretch_at(i64 at, Ticket ticket) const MERCUTIO_REQUIRES(mutex_);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Ranges ranges_ MERCUTIO_GUARDED_BY(mutex_);  // held and waiting, oldest first
};

}  // namespace mercutio
