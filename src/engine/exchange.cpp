#include "engine/exchange.h"

#include <algorithm>
#include <cstring>

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
      me_(channel.comm->rank()) {
  const auto found = std::find(plan.aggregators.begin(), plan.aggregators.end(), me_);
  if (found != plan.aggregators.end()) domain_ = found - plan.aggregators.begin();
}

bool Exchange::advance() {
  advance_rank_side();
  advance_aggregator();
  if (!message_status_.ok()) return true;
  const bool rank_side_over = rank_lanes_.empty() && !waiting_ && round_ >= plan_.rounds;
  const bool aggregator_over = domain_ < 0 || (!window_open_ && window_round_ >= plan_.windows(domain_));
  return rank_side_over && aggregator_over;
}

// ---- lanes ----

// Where the next `bytes` of the lane lie, if they are one run in memory; null otherwise.
std::byte* Exchange::contiguous_chunk(const Lane& lane, i64 bytes) const {
  if (!lane.type->monotone() || lane.type->overlapping()) return nullptr;
  const i64 first = lane.type->offset_of(lane.position - lane.shift);
  const i64 last = lane.type->offset_of(lane.position - lane.shift + bytes - 1);
  return last - first == bytes - 1 ? reinterpret_cast<std::byte*>(lane.origin + first) : nullptr;
}

bool Exchange::start_chunk(Lane& lane, bool sending) {
  lane.in_flight_bytes = std::min(plan_.chunk_bytes, lane.end - lane.position);
  lane.in_flight = contiguous_chunk(lane, lane.in_flight_bytes);
  if (!lane.in_flight) {
    if (!lane.slot && !free_slots_.empty()) {
      lane.slot = std::move(free_slots_.back());
      free_slots_.pop_back();
    }
    if (!lane.slot) lane.slot = std::make_unique<ScratchBuffer>(plan_.chunk_bytes);
    lane.in_flight = lane.slot->data.get();
    lane.cursor->seek(lane.position - lane.shift);
    if (sending) pack(*lane.cursor, lane.slot->first(lane.in_flight_bytes));
  }
  const Bytes data(lane.in_flight, static_cast<size_t>(lane.in_flight_bytes));
  auto started = sending ? channel_.comm->send(lane.peer, channel_.tag, data)
                         : channel_.comm->receive(lane.peer, channel_.tag, data);
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
    if (!sending && lane.slot && lane.in_flight == lane.slot->data.get()) {
      lane.cursor->seek(lane.position - lane.shift);
      unpack(*lane.cursor, lane.slot->first(lane.in_flight_bytes));
    }
    if (!sending && in_window) mark(lane, lane.position, next);
    lane.position = next;
    if (lane.position == lane.end) return true;
  }
  return false;
}

void Exchange::recycle(Lane& lane) {
  if (lane.slot) free_slots_.push_back(std::move(lane.slot));
}

// ---- rank side ----

// The next (round, step) with data of this rank, own domain left out.
bool Exchange::next_rank_lane(Lane& lane) {
  const PeerAccess& mine = peers_[static_cast<size_t>(me_)];
  if (mine.end <= mine.begin) round_ = plan_.rounds;
  for (; round_ < plan_.rounds; ++round_, step_ = 0) {
    while (step_ < plan_.domains()) {
      const i64 domain = order_.peer(me_, step_++);
      if (domain == domain_ || !plan_.serves(domain, me_)) continue;
      const FileRange window = plan_.window(domain, round_);
      const auto [begin, end] = mine.part_in(window.begin, window.end);
      if (begin == end) continue;
      lane.peer = plan_.aggregators[static_cast<size_t>(domain)];
      lane.position = begin;
      lane.end = end;
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

void Exchange::find_parts(FileRange window) {
  parts_.clear();
  next_part_ = 0;
  for (size_t rank = 0; rank < peers_.size(); ++rank) {
    if (!plan_.serves(domain_, static_cast<i64>(rank))) continue;
    const auto [begin, end] = peers_[rank].part_in(window.begin, window.end);
    if (begin < end) parts_.push_back(Part{static_cast<i64>(rank), begin, end});
  }
}

void Exchange::mark(const Lane& lane, i64 begin, i64 end) {
  const i64 window_address = reinterpret_cast<i64>(window_data_->data.get());
  Cursor walk = *lane.cursor;
  walk.seek(begin);
  while (walk.position() < end) {
    const StridedRun run = walk.next(end - walk.position());
    for (i64 i = 0, at = run.offset - window_address; i < run.count; ++i, at += run.stride) coverage_.mark(at, at + run.bytes);
  }
}

void Exchange::read_current_window() {
  i64 bytes = 0, first = INT64_MAX, last = 0;
  for (const Part& part : parts_) {
    const PeerAccess& access = peers_[static_cast<size_t>(part.rank)];
    bytes += part.end - part.begin;
    first = std::min(first, access.displacement + access.filetype->offset_of(part.begin));
    last = std::max(last, access.displacement + access.filetype->offset_of(part.end - 1) + 1);
  }
  if (bytes >= (last - first) / 2) {
    coverage_.mark(first - window_.begin, last - window_.begin);
  } else {
    for (const Part& part : parts_) {
      const PeerAccess& access = peers_[static_cast<size_t>(part.rank)];
      Lane lane;
      lane.cursor = access.cursor_in(window_data_->data.get(), window_.begin, part.begin, part.end);
      mark(lane, part.begin, part.end);
    }
  }
  auto found = storage_status_.ok() ? read_window(file_, window_, window_data_->data.get(), coverage_) : Result<i64>(INT64_MAX);
  if (!found) storage_status_ = std::move(found).error();
  if (!storage_status_.ok()) {   // what is sent on instead must not be another file's old bytes
    std::memset(window_data_->data.get(), 0, static_cast<size_t>(window_.bytes()));
    return;
  }
  end_of_file_ = std::min(end_of_file_, *found);
}

void Exchange::move_own_part() {
  for (const Part& part : parts_) {
    if (part.rank != me_) continue;
    Lane lane;
    lane.cursor = peers_[static_cast<size_t>(me_)].cursor_in(window_data_->data.get(), window_.begin, part.begin, part.end);
    Cursor memory = memory_.cursor();
    memory.seek(part.begin - memory_begin_);
    Cursor in_window = *lane.cursor;
    if (writing_) {
      copy(memory, in_window, part.end - part.begin);
      mark(lane, part.begin, part.end);
    } else {
      copy(in_window, memory, part.end - part.begin);
    }
  }
}

void Exchange::open_window() {
  window_ = plan_.window(domain_, window_round_);
  if (!window_data_) {
    i64 largest = 0;
    for (i64 round = 0; round < std::min<i64>(2, plan_.windows(domain_)); ++round) {   // only the first may be shorter
      largest = std::max(largest, plan_.window(domain_, round).bytes());
    }
    window_data_ = std::make_unique<ScratchBuffer>(largest);
  }
  find_parts(window_);
  window_open_ = true;
  if (parts_.empty()) return;
  coverage_.reset(window_.bytes());
  if (!writing_) read_current_window();
  move_own_part();
}

void Exchange::open_window_lanes() {
  while (next_part_ < parts_.size() && static_cast<i64>(window_lanes_.size()) < plan_.lanes) {
    const Part& part = parts_[next_part_++];
    if (part.rank == me_) continue;
    const PeerAccess& access = peers_[static_cast<size_t>(part.rank)];
    Lane lane;
    lane.peer = part.rank;
    lane.position = part.begin;
    lane.end = part.end;
    lane.type = access.filetype.get();
    lane.origin = access.displacement + reinterpret_cast<i64>(window_data_->data.get()) - window_.begin;
    lane.cursor = access.cursor_in(window_data_->data.get(), window_.begin, part.begin, part.end);
    window_lanes_.push_back(std::move(lane));
  }
}

void Exchange::close_window() {
  window_open_ = false;
  ++window_round_;
  if (!writing_ || parts_.empty() || !storage_status_.ok()) return;
  Status written = write_window(file_, window_, window_data_->data.get(), coverage_);
  if (!written) storage_status_ = std::move(written).error();
}

void Exchange::advance_aggregator() {
  if (domain_ < 0) return;
  while (message_status_.ok()) {
    if (!window_open_) {
      if (window_round_ >= plan_.windows(domain_)) return;
      open_window();
    }
    open_window_lanes();
    const auto ended = std::erase_if(window_lanes_, [this](Lane& lane) {
      if (!advance_lane(lane, /*sending=*/!writing_, /*in_window=*/true)) return false;
      recycle(lane);
      return true;
    });
    if (window_lanes_.empty() && next_part_ == parts_.size()) {
      close_window();
    } else if (ended == 0) {
      return;
    }
  }
}

}  // namespace mercutio
