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
      schedule_(plan, channel.comm->topology()),
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
  const bool rank_side_over = rank_flows_.empty() && !waiting_ && round_ >= plan_.rounds;
  return aggregator_is_over() && rank_side_over;
}

bool Exchange::aggregator_is_over() {
  return domain_ < 0 || (windows_.empty() && next_round_ >= plan_.windows(domain_) && throttle_->leave());
}

// ---- flows ----

// The address of the next `bytes` of the flow if they are contiguous in memory; null otherwise.
std::byte* Exchange::contiguous_chunk(const Flow& flow, i64 bytes) const {
  if (!flow.type->monotone() || flow.type->overlapping()) return nullptr;
  const i64 first = flow.type->offset_of(flow.position - flow.shift);
  const i64 last = flow.type->offset_of(flow.position - flow.shift + bytes - 1);
  return last - first == bytes - 1 ? reinterpret_cast<std::byte*>(flow.origin + first) : nullptr;
}

// The first flow of a side must get a slot, as others may depend on it; the others wait if memory is short.
bool Exchange::take_slot(Flow& flow) {
  if (!flow.slot && !free_slots_.empty()) {
    flow.slot = std::move(free_slots_.back());
    free_slots_.pop_back();
  }
  if (!flow.slot) flow.slot = ScratchBuffer::try_make(plan_.chunk_bytes);
  const auto is_first = [&flow](const std::vector<Flow>& side) { return !side.empty() && &flow == &side.front(); };
  if (!flow.slot && (is_first(rank_flows_) || is_first(window_flows_))) {
    flow.slot = std::make_unique<ScratchBuffer>(plan_.chunk_bytes);
  }
  return flow.slot != nullptr;
}

bool Exchange::start_chunk(Flow& flow, bool sending) {
  MERCUTIO_ASSERT(flow.position < flow.end);
  flow.in_flight_bytes = std::min(plan_.chunk_bytes, flow.end - flow.position);
  flow.in_flight = flow.cursor ? contiguous_chunk(flow, flow.in_flight_bytes) : nullptr;
  if (!flow.in_flight) {
    if (!take_slot(flow)) return false;
    flow.in_flight = flow.slot->data.get();
    if (flow.cursor) flow.cursor->seek(flow.position - flow.shift);
    const PhaseScope phase(channel_.counters, Phase::kCopy);
    if (sending && flow.cursor) pack(*flow.cursor, flow.slot->first(flow.in_flight_bytes));
    if (sending && !flow.cursor) std::memset(flow.in_flight, 0, static_cast<size_t>(flow.in_flight_bytes));
    channel_.copied(flow.in_flight_bytes);   // now, or when the message has arrived
  }
  const Bytes data(flow.in_flight, static_cast<size_t>(flow.in_flight_bytes));
  auto started = sending ? channel_.send(flow.peer, data) : channel_.receive(flow.peer, data);
  if (!started) {
    if (message_status_.ok()) message_status_ = std::move(started).error();
    return false;
  }
  flow.message = std::move(*started);
  return true;
}

// Advances one flow as far as possible; true when all its bytes have been moved.
bool Exchange::advance_flow(Flow& flow, bool sending, bool in_window) {
  while (message_status_.ok()) {
    if (!flow.message && !start_chunk(flow, sending)) return false;
    auto done = flow.message->test();
    if (!done) {
      message_status_ = std::move(done).error();
      return false;
    }
    if (!*done) return false;
    flow.message.reset();
    const i64 next = flow.position + flow.in_flight_bytes;
    if (!sending && flow.cursor && flow.slot && flow.in_flight == flow.slot->data.get()) {
      flow.cursor->seek(flow.position - flow.shift);
      const PhaseScope phase(channel_.counters, Phase::kCopy);
      unpack(*flow.cursor, flow.slot->first(flow.in_flight_bytes));
    }
    if (!sending && in_window && flow.cursor) add_coverage(*current_, flow, flow.position, next);
    flow.position = next;
    if (flow.position == flow.end) return true;
  }
  return false;
}

void Exchange::recycle(Flow& flow) {
  if (flow.slot) free_slots_.push_back(std::move(flow.slot));
}

// ---- rank side ----

// The first round in which this rank has data for other ranks.
i64 Exchange::next_round() const {
  i64 first = plan_.rounds;
  for (const WindowPart& part : my_parts_) {
    if (!part.empty()) first = std::min(first, part.window);
  }
  return first;
}

// Finds the next (round, step) with data of this rank, except in its own domain.
bool Exchange::next_rank_flow(Flow& flow) {
  for (; round_ < plan_.rounds; round_ = next_round(), step_ = 0) {
    while (step_ < plan_.domains()) {
      const i64 domain = schedule_.peer(me_, step_++);
      WindowPart& part = my_parts_[static_cast<size_t>(domain)];
      if (part.empty() || part.window != round_) continue;
      flow.peer = plan_.aggregators[static_cast<size_t>(domain)];
      flow.position = part.begin;
      flow.end = part.end;
      part = next_part(plan_, domain, me_, peers_[static_cast<size_t>(me_)], round_ + 1);
      return true;
    }
  }
  return false;
}

void Exchange::open_rank_flows() {
  while (static_cast<i64>(rank_flows_.size()) < plan_.flows) {
    if (!waiting_) {
      Flow flow;
      if (!next_rank_flow(flow)) return;
      waiting_ = std::move(flow);
    }
    // Messages of a pair of ranks keep their order only if its flows don't overlap.
    for (const Flow& open : rank_flows_) {
      if (open.peer == waiting_->peer) return;
    }
    waiting_->type = memory_.type.get();
    waiting_->origin = reinterpret_cast<i64>(memory_.base);
    waiting_->shift = memory_begin_;
    waiting_->cursor = memory_.cursor();
    rank_flows_.push_back(std::move(*waiting_));
    waiting_.reset();
  }
}

void Exchange::advance_rank_side() {
  bool moved = true;
  while (moved && message_status_.ok()) {
    open_rank_flows();
    moved = std::erase_if(rank_flows_, [this](Flow& flow) {
              if (!advance_flow(flow, /*sending=*/writing_, /*in_window=*/false)) return false;
              recycle(flow);
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

// Windows without data of any rank are skipped.
void Exchange::find_next_window() {
  next_round_ = plan_.windows(domain_);
  for (const WindowPart& part : rank_parts_) next_round_ = std::min(next_round_, part.window);
}

void Exchange::add_coverage(Window& window, const Flow& flow, i64 begin, i64 end) {
  const i64 window_address = reinterpret_cast<i64>(window.data->data.get());
  Cursor walk = *flow.cursor;
  walk.seek(begin);
  while (walk.position() < end) {
    const StridedRun run = walk.next(end - walk.position());
    for (i64 i = 0, at = run.offset - window_address; i < run.count; ++i, at += run.stride) window.coverage.add(at, at + run.bytes);
  }
}

// Reads the needed bytes of a window: from the first to the last one as one transfer, unless most of that is holes.
// After an Error zeros are sent, not stale bytes of another file.
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
      Flow flow;
      flow.cursor = peers_[static_cast<size_t>(part.rank)].cursor_in(data, window.range.begin, part.begin, part.end);
      add_coverage(window, flow, part.begin, part.end);
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
    throttle_->return_token();
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
    Flow flow;
    flow.cursor = peers_[static_cast<size_t>(me_)].cursor_in(current_->data->data.get(), current_->range.begin, part.begin, part.end);
    Cursor memory = memory_.cursor();
    memory.seek(part.begin - memory_begin_);
    Cursor in_window = *flow.cursor;
    if (writing_) {
      copy(memory, in_window, part.end - part.begin);
      add_coverage(*current_, flow, part.begin, part.end);
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

// Reads the next windows as far as the throttle and the storage allow.
void Exchange::read_ahead() {
  const auto room = [&] { return may_open(windows_.empty() || !pending_.overlaps() ? 1 : plan_.depth); };
  while (room() && throttle_->may_start()) {
    Window& window = open_window();
    if (window.data) read_guarded(window);
    if (!window.at_storage) throttle_->return_token();
  }
  if (!room()) throttle_->withdraw();
}

// A window without memory for its coverage is treated as one without memory.
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

// Makes the next window the current one if it is ready.
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

void Exchange::open_window_flows() {
  std::byte* data = current_->data ? current_->data->data.get() : nullptr;
  const i64 begin = current_->range.begin;
  while (next_part_ < current_->parts.size() && static_cast<i64>(window_flows_.size()) < plan_.flows) {
    const Part& part = current_->parts[next_part_++];
    if (part.rank == me_) continue;
    const PeerAccess& access = peers_[static_cast<size_t>(part.rank)];
    Flow flow;
    flow.peer = part.rank;
    flow.position = part.begin;
    flow.end = part.end;
    if (data) {
      flow.type = access.filetype.get();
      flow.origin = access.displacement + reinterpret_cast<i64>(data) - begin;
      flow.cursor = access.cursor_in(data, begin, part.begin, part.end);
    }
    window_flows_.push_back(std::move(flow));
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

// Writes full windows as far as the throttle allows.
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
    if (!window->at_storage) throttle_->return_token();
  }
}

void Exchange::close_window() {
  MERCUTIO_ASSERT(current_ && window_flows_.empty() && next_part_ == current_->parts.size());
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
    open_window_flows();
    const auto ended = std::erase_if(window_flows_, [this](Flow& flow) {
      if (!advance_flow(flow, /*sending=*/!writing_, /*in_window=*/true)) return false;
      recycle(flow);
      return true;
    });
    if (window_flows_.empty() && next_part_ == current_->parts.size()) {
      close_window();
    } else if (ended == 0) {
      return;
    }
  }
}

}  // namespace mercutio
