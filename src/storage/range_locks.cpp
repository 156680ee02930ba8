// Byte-range locks between threads; the header has the contract.
#include "storage/range_locks.h"

#include <algorithm>

namespace mercutio {

RangeLocks::Ticket RangeLocks::acquire(i64 begin, i64 end, bool exclusive) {
  std::unique_lock guard(mutex_);
  MERCUTIO_HELD(mutex_);
  const Ticket ticket = ranges_.insert(ranges_.end(), Range{begin, end, exclusive, false});
  changed_.wait(guard, [&]() MERCUTIO_REQUIRES(mutex_) { return is_free(ticket); });
  ticket->granted = true;
  return ticket;
}

std::optional<RangeLocks::Ticket> RangeLocks::try_acquire(i64 begin, i64 end, bool exclusive) {
  std::lock_guard guard(mutex_);
  const Ticket ticket = ranges_.insert(ranges_.end(), Range{begin, end, exclusive, true});
  if (is_free(ticket)) return ticket;
  ranges_.erase(ticket);
  return std::nullopt;
}

i64 RangeLocks::granted() const {
  std::lock_guard guard(mutex_);
  return std::count_if(ranges_.begin(), ranges_.end(), [](const Range& range) { return range.granted; });
}

bool RangeLocks::is_free(Ticket ticket) {
  return std::none_of(ranges_.begin(), ticket, [&](const Range& other) {
    return (other.exclusive || ticket->exclusive) && other.begin < ticket->end && ticket->begin < other.end;
  });
}

RangeLocks::Stretch RangeLocks::stretch_at(i64 at, Ticket ticket) const {
  i64 covered_until = at, next = ticket->end;
  for (auto other = ranges_.begin(); other != ranges_.end(); ++other) {
    if (Ranges::const_iterator(ticket) == other || !other->granted || other->end <= at) continue;
    if (other->begin <= at) covered_until = std::max(covered_until, other->end);
    else next = std::min(next, other->begin);
  }
  const bool covered = covered_until > at;
  return {std::min(covered ? covered_until : next, ticket->end), covered};
}

}  // namespace mercutio
