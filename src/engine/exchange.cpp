#include "engine/exchange.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/assert.h"
#include "base/attempt.h"
#include "engine/window_io.h"

namespace mercutio {

Exchange::Exchange(const EngineFile& file, Channel channel, const Plan& plan, Direction direction,
                   std::span<const PeerAccess> peers, const Memory& memory, i64 memory_begin)
    : file_(file),
      channel_(channel),
      plan_(plan),
      order_(plan, channel.comm->topology()),
      writing_(direction == Direction::kWrite),
      peers_(peers),
      memory_(memory),
      memory_begin_(memory_begin),
      me_(channel.comm->rank()),
      pending_(file, direction) {
  const auto found = std::find(plan.aggregators.begin(), plan.aggregators.end(), me_);
  if (found != plan.aggregators.end()) domain_ = found - plan.aggregators.begin();
  throttle_.emplace(channel_, plan_, domain_);
  const PeerAccess& mine = peers_[static_cast<size_t>(me_)];
  for (i64 domain = 0; domain < plan.domains(); ++domain) {
    my_parts_.push_back(domain == domain_ ? WindowPart{} : next_part(plan, domain, me_, mine, 0));
  }
  round_ = next_round();
  if (domain_ < 0) return;
  for (i64 rank = 0; rank < static_cast<i64>(peers.size()); ++rank) {
    rank_parts_.push_back(next_part(plan, domain_, rank, peers[static_cast<size_t>(rank)], 0));
  }
  find_next_window();
}

bool Exchange::advance() {
  advance_rank_side();
  advance_aggregator();
  if (!message_status_.ok()) return true;
  const bool rank_side_over = rank_lanes_.empty() && !waiting_ && round_ >= plan_.rounds;
  return aggregator_is_over() && rank_side_over;
}

bool Exchange::aggregator_is_over() {
  return domain_ < 0 || (windows_.empty() && next_round_ >= plan_.windows(domain_) && throttle_->leave());
}

// ---- lanes ----

// Where the next `bytes` of the lane lie, if they are one run in memory; null otherwise.
std::byte* Exchange::contiguous_chunk(const Lane& lane, i64 bytes) const {
  if (!lane.type->monotone() || lane.type->overlapping()) return nullptr;
  const i64 first = lane.type->offset_of(lane.position - lane.shift);
  const i64 last = lane.type->offset_of(lane.position - lane.shift + bytes - 1);
  return last - first == bytes - 1 ? reinterpret_cast<std::byte*>(lane.origin + first) : nullptr;
}

// The first lane of a side, on which others may depend, has one in any case; the others wait where memory is short.
bool Exchange::take_slot(Lane& lane) {
  if (!lane.slot && !free_slots_.empty()) {
    lane.slot = std::move(free_slots_.back());
    free_slots_.pop_back();
  }
  if (!lane.slot) lane.slot = ScratchBuffer::try_make(plan_.chunk_bytes);
  const auto is_first = [&lane](const std::vector<Lane>& side) { return !side.empty() && &lane == &side.front(); };
  if (!lane.slot && (is_first(rank_lanes_) || is_first(window_lanes_))) {
    lane.slot = std::make_unique<ScratchBuffer>(plan_.chunk_bytes);
  }
  return lane.slot != nullptr;
}

bool Exchange::start_chunk(Lane& lane, bool sending) {
  MERCUTIO_ASSERT(lane.position < lane.end);
  lane.in_flight_bytes = std::min(plan_.chunk_bytes, lane.end - lane.position);
  lane.in_flight = lane.cursor ? contiguous_chunk(lane, lane.in_flight_bytes) : nullptr;
  if (!lane.in_flight) {
    if (!take_slot(lane)) return false;
    lane.in_flight = lane.slot->data.get();
    if (lane.cursor) lane.cursor->seek(lane.position - lane.shift);
    const PhaseScope phase(channel_.counters, Phase::kCopy);
    if (sending && lane.cursor) pack(*lane.cursor, lane.slot->first(lane.in_flight_bytes));
    if (sending && !lane.cursor) std::memset(lane.in_flight, 0, static_cast<size_t>(lane.in_flight_bytes));
    channel_.copied(lane.in_flight_bytes);   // here or when it has arrived
  }
  const Bytes data(lane.in_flight, static_cast<size_t>(lane.in_flight_bytes));
  auto started = sending ? channel_.send(lane.peer, data) : channel_.receive(lane.peer, data);
  if (!started) {
    if (message_status_.ok()) message_status_ = std::move(started).error();
    return false;
  }
  lane.message = std::move(*started);
  return true;
}

// Advances one lane as far as possible; true when it has moved everything.
bool Exchange::advance_lane(Lane& lane, bool sending, bool in_window) {
  while (message_status_.ok()) {
    if (!lane.message && !start_chunk(lane, sending)) return false;
    auto done = lane.message->test();
    if (!done) {
      message_status_ = std::move(done).error();
      return false;
    }
    if (!*done) return false;
    lane.message.reset();
    const i64 next = lane.position + lane.in_flight_bytes;
    if (!sending && lane.cursor && lane.slot && lane.in_flight == lane.slot->data.get()) {
      lane.cursor->seek(lane.position - lane.shift);
      const PhaseScope phase(channel_.counters, Phase::kCopy);
      unpack(*lane.cursor, lane.slot->first(lane.in_flight_bytes));
    }
    if (!sending && in_window && lane.cursor) mark(*current_, lane, lane.position, next);
    lane.position = next;
    if (lane.position == lane.end) return true;
  }
  return false;
}

void Exchange::recycle(Lane& lane) {
  if (lane.slot) free_slots_.push_back(std::move(lane.slot));
}

// ---- rank side ----

// The first round in which this rank has data for others.
i64 Exchange::next_round() const {
  i64 first = plan_.rounds;
  for (const WindowPart& part : my_parts_) {
    if (!part.empty()) first = std::min(first, part.window);
  }
  return first;
}

// The next (round, step) with data of this rank, own domain left out.
bool Exchange::next_rank_lane(Lane& lane) {
  for (; round_ < plan_.rounds; round_ = next_round(), step_ = 0) {
    while (step_ < plan_.domains()) {
      const i64 domain = order_.peer(me_, step_++);
      WindowPart& part = my_parts_[static_cast<size_t>(domain)];
      if (part.empty() || part.window != round_) continue;
      lane.peer = plan_.aggregators[static_cast<size_t>(domain)];
      lane.position = part.begin;
      lane.end = part.end;
      part = next_part(plan_, domain, me_, peers_[static_cast<size_t>(me_)], round_ + 1);
      return true;
    }
  }
  return false;
}

void Exchange::open_rank_lanes() {
  while (static_cast<i64>(rank_lanes_.size()) < plan_.lanes) {
    if (!waiting_) {
      Lane lane;
      if (!next_rank_lane(lane)) return;
      waiting_ = std::move(lane);
    }
    // Messages of one pair keep their order only if its lanes follow each other.
    for (const Lane& open : rank_lanes_) {
      if (open.peer == waiting_->peer) return;
    }
    waiting_->type = memory_.type.get();
    waiting_->origin = reinterpret_cast<i64>(memory_.base);
    waiting_->shift = memory_begin_;
    waiting_->cursor = memory_.cursor();
    rank_lanes_.push_back(std::move(*waiting_));
    waiting_.reset();
  }
}

void Exchange::advance_rank_side() {
  bool moved = true;
  while (moved && message_status_.ok()) {
    open_rank_lanes();
    moved = std::erase_if(rank_lanes_, [this](Lane& lane) {
              if (!advance_lane(lane, /*sending=*/writing_, /*in_window=*/false)) return false;
              recycle(lane);
              return true;
            }) > 0;
  }
}

// ---- aggregator side ----

void Exchange::fail_storage(Error error) {
  if (storage_status_.ok()) storage_status_ = std::move(error);
}

void Exchange::find_parts(Window& window) {
  window.parts.clear();
  for (size_t rank = 0; rank < peers_.size(); ++rank) {
    WindowPart& part = rank_parts_[rank];
    if (part.empty() || part.window != window.round) continue;
    window.parts.push_back(Part{static_cast<i64>(rank), part.begin, part.end});
    part = next_part(plan_, domain_, static_cast<i64>(rank), peers_[rank], window.round + 1);
  }
  if (!channel_.counters) return;
  channel_.counters->saw_in_degree(std::count_if(window.parts.begin(), window.parts.end(), [this](const Part& part) { return part.rank != me_; }));
}

// Windows without data of any rank are left out.
void Exchange::find_next_window() {
  next_round_ = plan_.windows(domain_);
  for (const WindowPart& part : rank_parts_) next_round_ = std::min(next_round_, part.window);
}

void Exchange::mark(Window& window, const Lane& lane, i64 begin, i64 end) {
  const i64 window_address = reinterpret_cast<i64>(window.data->data.get());
  Cursor walk = *lane.cursor;
  walk.seek(begin);
  while (walk.position() < end) {
    const StridedRun run = walk.next(end - walk.position());
    for (i64 i = 0, at = run.offset - window_address; i < run.count; ++i, at += run.stride) window.coverage.mark(at, at + run.bytes);
  }
}

// Reads what is needed of a window: all between its first and its last needed byte as one transfer, unless most of that is
// holes. After an Error zeros are handed out: not another file's old bytes.
void Exchange::read(Window& window) {
  i64 bytes = 0, first = INT64_MAX, last = 0;
  for (const Part& part : window.parts) {
    const PeerAccess& access = peers_[static_cast<size_t>(part.rank)];
    bytes += part.end - part.begin;
    first = std::min(first, access.displacement + access.filetype->offset_of(part.begin));
    last = std::max(last, access.displacement + access.filetype->offset_of(part.end - 1) + 1);
  }
  std::byte* data = window.data->data.get();
  if (!storage_status_.ok()) {
    std::memset(data, 0, static_cast<size_t>(window.range.bytes()));
  } else if (bytes >= (last - first) / 2) {
    window.at_storage = true;
    if (file_.counters) file_.counters->hole_bytes += std::max<i64>(0, last - first - bytes);
    pending_.start(window.round, IoPiece{first, data + (first - window.range.begin), last - first});
  } else {
    window.coverage.reset(window.range.bytes());
    for (const Part& part : window.parts) {
      Lane lane;
      lane.cursor = peers_[static_cast<size_t>(part.rank)].cursor_in(data, window.range.begin, part.begin, part.end);
      mark(window, lane, part.begin, part.end);
    }
    auto found = read_window(file_, window.range, data, window.coverage);
    if (found) end_of_file_ = std::min(end_of_file_, *found);
    if (!found) fail_storage(std::move(found).error());
    if (!found) std::memset(data, 0, static_cast<size_t>(window.range.bytes()));
  }
}

void Exchange::read_guarded(Window& window) {
  const Status begun = attempt([&] {
    read(window);
    return ok_status();
  });
  if (begun) return;
  window.at_storage = false;
  fail_storage(begun.error());
  std::memset(window.data->data.get(), 0, static_cast<size_t>(window.range.bytes()));
}

void Exchange::complete_transfers() {
  throttle_->advance();
  while (auto completed = pending_.next_completed()) {
    const i64 moved = completed->moved ? *completed->moved : 0;
    if (!completed->moved) fail_storage(std::move(completed->moved).error());
    if (!writing_ && moved < completed->piece.bytes) {
      if (storage_status_.ok()) end_of_file_ = std::min(end_of_file_, completed->piece.offset + moved);
      std::memset(completed->piece.data + moved, 0, static_cast<size_t>(completed->piece.bytes - moved));
    }
    for (const auto& window : windows_) window->at_storage &= window->round != completed->window;
    throttle_->finished();
  }
  if (!throttle_->status()) message_status_ = throttle_->status();
  write_full();
  while (writing_ && !windows_.empty() && windows_.front().get() != current_ && !windows_.front()->full && !windows_.front()->at_storage) {
    free_windows_.push_back(std::move(windows_.front()));
    windows_.pop_front();
  }
}

void Exchange::move_own_part() {
  const PhaseScope phase(channel_.counters, Phase::kCopy);
  for (const Part& part : current_->parts) {
    if (part.rank != me_ || !current_->data) continue;
    channel_.copied(part.end - part.begin);
    Lane lane;
    lane.cursor = peers_[static_cast<size_t>(me_)].cursor_in(current_->data->data.get(), current_->range.begin, part.begin, part.end);
    Cursor memory = memory_.cursor();
    memory.seek(part.begin - memory_begin_);
    Cursor in_window = *lane.cursor;
    if (writing_) {
      copy(memory, in_window, part.end - part.begin);
      mark(*current_, lane, part.begin, part.end);
    } else {
      copy(in_window, memory, part.end - part.begin);
    }
  }
}

Exchange::Window& Exchange::open_window() {
  if (free_windows_.empty()) {
    free_windows_.push_back(std::make_unique<Window>());
    free_windows_.back()->data = ScratchBuffer::try_make(plan_.largest_window(domain_));
  }
  windows_.push_back(std::move(free_windows_.back()));
  free_windows_.pop_back();
  Window& window = *windows_.back();
  window.round = next_round_;
  window.range = plan_.window(domain_, window.round);
  window.full = window.at_storage = false;
  if (!window.data) fail_storage(Error{ErrorClass::kNoMem, "out of memory", ENOMEM});
  find_parts(window);
  find_next_window();
  MERCUTIO_ASSERT(!window.parts.empty() && (!window.data || window.range.bytes() <= window.data->bytes));
  MERCUTIO_ASSERT(next_round_ > window.round);
  return window;
}

bool Exchange::may_open(i64 limit) const {
  return next_round_ < plan_.windows(domain_) && static_cast<i64>(windows_.size()) < limit;
}

// Reads the next windows, as far as the throttle and the storage allow.
void Exchange::read_ahead() {
  const auto room = [&] { return may_open(windows_.empty() || !pending_.overlaps() ? 1 : plan_.depth); };
  while (room() && throttle_->may_start()) {
    Window& window = open_window();
    if (window.data) read_guarded(window);
    if (!window.at_storage) throttle_->finished();
  }
  if (!room()) throttle_->withdraw();
}

// Without memory to note what is written into it a window is one without memory.
void Exchange::cover(Window& window) {
  const Status covered = attempt([&] {
    const SparesReserve spares;
    window.coverage.reset(window.range.bytes());
    return ok_status();
  });
  if (covered) return;
  fail_storage(covered.error());
  window.data.reset();
}

// Makes the next window the current one, if it is ready.
bool Exchange::take_window() {
  if (writing_) {
    if (!may_open(plan_.depth)) return false;
    current_ = &open_window();
    cover(*current_);
  } else {
    complete_transfers();
    if (windows_.empty() || windows_.front()->at_storage) return false;
    current_ = windows_.front().get();
  }
  next_part_ = 0;
  move_own_part();
  return true;
}

void Exchange::open_window_lanes() {
  std::byte* data = current_->data ? current_->data->data.get() : nullptr;
  const i64 begin = current_->range.begin;
  while (next_part_ < current_->parts.size() && static_cast<i64>(window_lanes_.size()) < plan_.lanes) {
    const Part& part = current_->parts[next_part_++];
    if (part.rank == me_) continue;
    const PeerAccess& access = peers_[static_cast<size_t>(part.rank)];
    Lane lane;
    lane.peer = part.rank;
    lane.position = part.begin;
    lane.end = part.end;
    if (data) {
      lane.type = access.filetype.get();
      lane.origin = access.displacement + reinterpret_cast<i64>(data) - begin;
      lane.cursor = access.cursor_in(data, begin, part.begin, part.end);
    }
    window_lanes_.push_back(std::move(lane));
  }
}

void Exchange::write(Window& window) {
  if (!window.data || !storage_status_.ok()) return;
  const i64 first = window.coverage.next_covered(0), last = window.coverage.next_hole(first);
  std::byte* data = window.data->data.get();
  if (window.coverage.next_covered(last) == window.coverage.size()) {   // one run
    auto guard = guard_against_sieving(file_, window.range.begin + first, window.range.begin + last);
    if (!guard) return fail_storage(std::move(guard).error());
    window.at_storage = true;
    pending_.start(window.round, IoPiece{window.range.begin + first, data + first, last - first}, std::move(*guard));
  } else if (Status written = write_window(file_, window.range, data, window.coverage); !written) {
    fail_storage(std::move(written).error());
  }
}

// Writes the windows that wait for it, as far as the throttle lets them.
void Exchange::write_full() {
  for (const auto& window : windows_) {
    if (!window->full) continue;
    if (!throttle_->may_start()) return;
    MERCUTIO_ASSERT(window.get() != current_ && !window->at_storage);
    window->full = false;
    const Status written = attempt([&] {
      write(*window);
      return ok_status();
    });
    if (!written) {
      window->at_storage = false;
      fail_storage(written.error());
    }
    if (!window->at_storage) throttle_->finished();
  }
}

void Exchange::close_window() {
  MERCUTIO_ASSERT(current_ && window_lanes_.empty() && next_part_ == current_->parts.size());
  Window& window = *current_;
  current_ = nullptr;
  if (writing_) {
    window.full = true;
    write_full();
  } else {
    MERCUTIO_ASSERT(windows_.front().get() == &window && !window.at_storage);
    free_windows_.push_back(std::move(windows_.front()));
    windows_.pop_front();
  }
}

void Exchange::advance_aggregator() {
  if (domain_ < 0) return;
  while (message_status_.ok()) {
    complete_transfers();
    if (!writing_) read_ahead();
    if (!current_ && !take_window()) return;
    open_window_lanes();
    const auto ended = std::erase_if(window_lanes_, [this](Lane& lane) {
      if (!advance_lane(lane, /*sending=*/!writing_, /*in_window=*/true)) return false;
      recycle(lane);
      return true;
    });
    if (window_lanes_.empty() && next_part_ == current_->parts.size()) {
      close_window();
    } else if (ended == 0) {
      return;
    }
  }
}

}  // namespace mercutio
