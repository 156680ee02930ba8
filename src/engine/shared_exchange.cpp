#include "engine/shared_exchange.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "engine/pieces.h"
#include "engine/window_io.h"

namespace mercutio {
namespace {

constexpr i64 kCounterBytes = 4096;
constexpr i64 kCounterPitch = 8;   // a cache line each

i64 lowest_bit(i64 value) { return value & -value; }

// The first mark at or after `from` that is not `value`.
i64 first_other(const std::byte* marks, i64 from, i64 count, std::byte value) {
  std::uint64_t pattern;
  std::memset(&pattern, static_cast<int>(value), sizeof pattern);
  i64 i = from;
  for (; i + 8 <= count; i += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, marks + i, sizeof eight);
    if (eight != pattern) break;
  }
  while (i < count && marks[i] == value) ++i;
  return i;
}

}  // namespace

SharedExchange::SharedExchange(const EngineFile& file, const TurnRef& turn, const Plan& plan, Direction direction, i64 unit_bytes)
    : file_(file),
      turn_(turn),
      arena_(turn->arena()),
      plan_(plan),
      order_(plan, file.comm->topology()),
      writing_(direction == Direction::kWrite),
      unit_bytes_(unit_bytes),
      me_(file.comm->rank()) {
  const auto found = std::find(plan.aggregators.begin(), plan.aggregators.end(), me_);
  if (found != plan.aggregators.end()) domain_ = found - plan.aggregators.begin();
  routes_.resize(static_cast<size_t>(plan.domains()));
}

void SharedExchange::set_access(const PeerAccess& mine, const Memory& memory, i64 memory_begin) {
  mine_ = mine;
  memory_ = &memory;
  memory_begin_ = memory_begin;
  for (i64 domain = 0; domain < plan_.domains(); ++domain) find_next(domain, 0);
  arena_.wake_others();   // who waits for this rank to pass windows in which it has nothing
}

// An area: a page of counters, half of the rest for marks and half for data, whatever the sizes of this operation: marks
// are zero between operations, so no other operation may have its data there.
SharedExchange::Slot SharedExchange::slot(i64 domain, i64 window) const {
  const i64 place = window % plan_.depth;
  std::byte* area = arena_.area(area_of(domain));
  std::byte* marks = area + kCounterBytes + place * plan_.buffer_bytes;
  std::byte* data = marks + (arena_.area_bytes() - kCounterBytes) / 2;
  return Slot{data, marks, std::atomic_ref<i64>(reinterpret_cast<i64*>(area)[place * kCounterPitch])};
}

i64 SharedExchange::unit_of(FileRange window) const { return lowest_bit(unit_bytes_ | window.begin | window.end); }

// The first window from `from` on that reaches beyond a file offset. Windows of a domain lie in file order.
i64 SharedExchange::window_beyond(i64 domain, i64 from, i64 offset) const {
  i64 low = from, high = plan_.windows(domain);
  while (low < high) {
    const i64 middle = low + (high - low) / 2;
    plan_.window(domain, middle).end > offset ? high = middle : low = middle + 1;
  }
  return low;
}

// The next window from `from` on in which this rank has bytes; all before it are passed.
void SharedExchange::find_next(i64 domain, i64 from) {
  Route& route = routes_[static_cast<size_t>(domain)];
  const i64 windows = plan_.windows(domain);
  const bool concerned = mine_.end > mine_.begin && plan_.serves(domain, me_);
  route = Route{concerned ? from : windows, 0, 0};
  for (; route.window < windows; ++route.window) {
    FileRange window = plan_.window(domain, route.window);
    const i64 position = window.begin <= mine_.first ? mine_.begin : mine_.stream_position(window.begin);
    if (position >= mine_.end) {
      route.window = windows;
      break;
    }
    const i64 offset = mine_.displacement + mine_.filetype->offset_of(position);
    if (offset >= window.end) {   // far apart: don't go there window by window
      route.window = window_beyond(domain, route.window, offset);
      if (route.window == windows) break;
      window = plan_.window(domain, route.window);
    }
    std::tie(route.begin, route.end) = mine_.part_in(window.begin, window.end);
    if (route.begin < route.end) break;
  }
  const i64 area = area_of(domain);
  arena_.passed(area, me_).store(arena_.base(area) + route.window, std::memory_order_release);
}

// Copies this rank's bytes of a window: into the slot when writing, out of it when reading.
void SharedExchange::move(i64 domain, const Route& route) {
  const FileRange window = plan_.window(domain, route.window);
  Slot place = slot(domain, route.window);
  const i64 bytes = route.end - route.begin;
  Cursor memory = memory_->cursor();
  memory.seek(route.begin - memory_begin_);
  Cursor in_window = mine_.cursor_in(place.data, window.begin, route.begin, route.end);
  if (!writing_) return copy(in_window, memory, bytes);
  mark(in_window, reinterpret_cast<i64>(place.data), place.marks, __builtin_ctzll(static_cast<unsigned long long>(unit_of(window))));
  copy(memory, in_window, bytes);
  place.filled.fetch_add(bytes, std::memory_order_relaxed);
}

// Leaves or takes this rank's bytes of its next window of a domain, if that can be done now.
bool SharedExchange::visit(i64 domain) {
  const Route route = routes_[static_cast<size_t>(domain)];
  if (route.window >= plan_.windows(domain)) return false;
  const i64 area = area_of(domain);
  const i64 served = arena_.served(area).load(std::memory_order_acquire) - arena_.base(area);
  if (writing_ ? route.window >= served + plan_.depth : route.window >= served) return false;
  move(domain, route);
  find_next(domain, route.window + 1);
  if (area != me_) arena_.wake(area);
  return true;
}

// Windows of the own domain that every rank has passed.
i64 SharedExchange::passed_by_all() const {
  i64 lowest = INT64_MAX;
  for (i64 rank = 0; rank < arena_.ranks(); ++rank) {
    lowest = std::min(lowest, arena_.passed(me_, rank).load(std::memory_order_acquire));
  }
  return lowest - arena_.base(me_);
}

void SharedExchange::write_slot(FileRange window, const Slot& slot) {
  const i64 filled = slot.filled.load(std::memory_order_relaxed);
  if (filled == 0) return;
  slot.filled.store(0, std::memory_order_relaxed);
  const i64 unit = unit_of(window), units = window.bytes() / unit;
  Status written = storage_status_;
  if (!written) {   // what could not be written once is not tried again: the caller is told about the first
  } else if (filled >= window.bytes() && first_other(slot.marks, 0, units, std::byte{1}) == units) {
    const IoPiece whole{window.begin, slot.data, window.bytes()};
    auto guard = guard_against_sieving(file_, window.begin, window.end);
    written = guard ? write_pieces(file_, std::span(&whole, 1)) : Status(std::move(guard).error());
  } else {
    Coverage covered;
    covered.reset(window.bytes());
    for (i64 at = first_other(slot.marks, 0, units, std::byte{0}); at < units;) {
      const i64 end = first_other(slot.marks, at, units, std::byte{1});
      covered.mark(at * unit, end * unit);
      at = first_other(slot.marks, end, units, std::byte{0});
    }
    written = write_window(file_, window, slot.data, covered);
  }
  if (!written && storage_status_) storage_status_ = std::move(written).error();
  std::memset(slot.marks, 0, static_cast<size_t>(units));
}

// The whole window: dense patterns need nearly all of it. Behind the end of the file and after an error: zeros.
void SharedExchange::read_slot(FileRange window, const Slot& slot) {
  const IoPiece whole{window.begin, slot.data, window.bytes()};
  i64 got = 0;
  if (storage_status_ && window.begin < end_of_file_) {
    Result<i64> moved = read_pieces(file_, std::span(&whole, 1));
    if (moved) got = *moved;
    if (!moved) storage_status_ = std::move(moved).error();
  }
  if (got == window.bytes()) return;
  if (storage_status_) end_of_file_ = std::min(end_of_file_, window.begin + got);
  std::memset(slot.data + got, 0, static_cast<size_t>(window.bytes() - got));
}

// Handles the next windows of the own domain, if that can be done now.
bool SharedExchange::serve() {
  if (domain_ < 0 || served_ >= plan_.windows(domain_)) return false;
  const i64 passed = passed_by_all();
  i64 next = served_;
  if (writing_) {
    // Only the windows that have a slot can hold anything; what all have passed beyond them is empty.
    for (; next < std::min(passed, served_ + plan_.depth); ++next) write_slot(plan_.window(domain_, next), slot(domain_, next));
    next = std::max(next, passed);
  } else if (passed >= served_) {   // nobody has anything left to take: what all have passed is needed by nobody
    next = passed;
    if (next < plan_.windows(domain_)) read_slot(plan_.window(domain_, next), slot(domain_, next));
    next = std::min(next + 1, plan_.windows(domain_));
  } else if (served_ < passed + plan_.depth) {   // ahead of the slowest
    read_slot(plan_.window(domain_, served_), slot(domain_, served_));
    ++next;
  }
  if (next == served_) return false;
  served_ = next;
  arena_.served(me_).store(arena_.base(me_) + served_, std::memory_order_release);
  arena_.wake_others();
  return true;
}

bool SharedExchange::advance() {
  if (over_) return true;
  bool moved = true, rest = false;
  while (moved) {
    moved = serve();
    rest = false;
    for (i64 step = 0; step < plan_.domains(); ++step) {
      const i64 domain = order_.peer(me_, step);
      if (visit(domain)) {
        moved = true;
        while (serve()) {
        }
      }
      rest = rest || routes_[static_cast<size_t>(domain)].window < plan_.windows(domain);
    }
  }
  over_ = !rest && (domain_ < 0 || served_ >= plan_.windows(domain_));
  if (over_) {
    for (i64 domain = 0; domain < plan_.domains(); ++domain) arena_.advance_base(area_of(domain), plan_.windows(domain));
  }
  return over_;
}

}  // namespace mercutio
