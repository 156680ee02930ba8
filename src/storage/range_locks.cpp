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

std::vector<std::pair<i64, i64>> RangeLocks::uncovered(const Range& range) const {
  std::vector<std::pair<i64, i64>> parts{{range.begin, range.end}};
  for (const Range& other : ranges_) {
    if (!other.granted) continue;
    std::vector<std::pair<i64, i64>> rest;
    for (const auto& [begin, end] : parts) {
      if (begin < std::min(end, other.begin)) rest.emplace_back(begin, std::min(end, other.begin));
      if (std::max(begin, other.end) < end) rest.emplace_back(std::max(begin, other.end), end);
    }
    parts = std::move(rest);
  }
  return parts;
}

}  // namespace mercutio
