#include "engine/runs.h"

#include <algorithm>
#include <cstring>

#include "base/attempt.h"
#include "engine/agreement/messages.h"
#include "engine/io/pieces.h"
#include "model/single_run.h"

namespace mercutio {

bool may_move_runs(const EngineFile& file, const Channel& channel) {
  if (!file.patterns || !channel.ticket || !channel.ticket->arena().whole()) return false;
  const Traits& traits = file.storage->traits();
  if (traits.remote_cluster) return false;   // there, aggregators save connections
  if (file.adapter && traits.metadata_is_remote) return false;   // there, aggregators may be faster
  const i64 ranks = channel.comm->size();
  return ranks > 1 && ranks <= RunAccess::kMostRanks;
}

bool expects_runs(const EngineFile& file, Direction direction) { return file.patterns->expects_runs(direction); }

bool are_runs(const Gathered& all) {
  const Pattern& pattern = all.pattern;
  if (pattern.contiguous != pattern.participants || all.choices.hints.buffering == static_cast<i64>(Toggle::kEnable)) return false;
  return pattern.disjoint || (pattern.direction == Direction::kRead && pattern.bytes <= pattern.participants * RunAccess::kEntryBytes);
}

static Toggle buffering_of(const EngineFile& file, Direction direction) {
  return direction == Direction::kRead ? file.hints->romio_cb_read : file.hints->romio_cb_write;
}
static bool hints_permit_runs(const EngineFile& file, Direction direction) {
  return buffering_of(file, direction) != Toggle::kEnable && file.hints->mercutio_strategy == WantedStrategy::kAuto;
}

std::optional<IoPiece> run_of(const EngineFile& file, const Access& access, const CollectiveOptions& options) {
  if (!hints_permit_runs(file, access.direction)) return std::nullopt;
  if (!options.entry || options.atomic || options.alone || (options.more && *options.more)) return std::nullopt;
  if (access.bytes == 0) return IoPiece{};
  const i64 offset = access.memory.contiguous() ? offset_of_run(*access.view, access.position, access.bytes) : -1;
  return offset >= 0 ? std::optional(IoPiece{offset, begin_of(access.memory), access.bytes}) : std::nullopt;
}

RunAccess::RunAccess(const EngineFile& file, const Channel& channel, Direction direction, const std::optional<IoPiece>& mine)
    : file_(file), channel_(channel), direction_(direction), mine_(mine.value_or(IoPiece{})) {
  if (!mine) return;
  entry_.flags = flags();
  entry_.offset = mine_.offset;
  entry_.bytes = mine_.bytes;
  if (reads() || (entry_.flags & kMayBeLed) == 0 || mine_.bytes == 0) return;
  std::memcpy(entry_.data, mine_.data, static_cast<size_t>(mine_.bytes));
  entry_bytes_ += static_cast<size_t>(mine_.bytes);
}

void RunAccess::enter(Phase phase) const {
  if (file_.counters) file_.counters->clock.enter(phase);
}

void RunAccess::copied(i64 bytes) const {
  if (file_.counters) file_.counters->copied_bytes += bytes;
}

i64 RunAccess::flags() const {
  if (!hints_permit_runs(file_, direction_)) return 0;
  const bool plain = buffering_of(file_, direction_) == Toggle::kAutomatic && file_.hints->mercutio_exchange == WantedExchange::kAuto;
  const bool may_be_led = plain && mine_.bytes <= kEntryBytes && only_copies(file_);
  return may_be_led ? kMovesOwn | kMayBeLed : kMovesOwn;
}

bool RunAccess::decide() {
  enter(Phase::kOwn);
  way_ = way_of_all();
  own_ = entry_of(channel_.ticket->arena().my_index()).data;
  file_.patterns->tried_runs(direction_, way_ != Way::kNone);
  return way_ != Way::kNone;
}

RunAccess::Way RunAccess::way_of_all() {
  const i64 ranks = channel_.comm->size();
  bool disjoint = true;
  i64 flags = kMovesOwn | kMayBeLed;
  for (i64 i = 0; i < ranks; ++i) {
    Entry& entry = entry_of(i);
    flags &= entry.flags;
    if (entry.bytes > 0) entries_[count_++] = &entry;
  }
  if ((flags & kMovesOwn) == 0) return Way::kNone;
  const auto by_offset = [](const Entry* a, const Entry* b) { return a->offset < b->offset; };
  const auto entries = std::span(entries_).first(count_);
  if (!std::is_sorted(entries.begin(), entries.end(), by_offset)) std::sort(entries.begin(), entries.end(), by_offset);
  i64 end = -1, bytes = 0;   // end of the entries so far, and bytes that they cover
  for (const Entry* const entry : entries) {
    disjoint = disjoint && entry->offset >= end;
    const i64 more = std::max<i64>(0, entry->end() - std::max(end, entry->offset));
    if (entry->offset > end && ++piece_count_ <= pieces_.size()) pieces_[piece_count_ - 1] = IoPiece{entry->offset};
    if (piece_count_ <= pieces_.size()) pieces_[piece_count_ - 1].bytes += more;
    bytes += more;
    end = std::max(end, entry->end());
  }
  const bool few = bytes <= kMostLedBytes && piece_count_ <= (reads() ? kMostLedReads : kMostLedWrites);
  if ((flags & kMayBeLed) != 0 && few && (reads() || disjoint)) return Way::kLed;
  return disjoint ? Way::kOwn : Way::kNone;
}

Status RunAccess::move() {
  const bool is_led = way_ == Way::kLed && !channel_.ticket->arena().is_first();
  if (file_.trace && file_.trace->keeps_texts()) record(file_, TraceKind::kPlan, now_ns(), 0, -1, text());
  Status moved = attempt([&]() -> Status {
    if (is_led || count_ == 0) return ok_status();
    if (way_ == Way::kLed) return lead();
    MERCUTIO_LET(moved_, move_own());
    return ok_status();
  });
  if (way_ == Way::kLed) copied(mine_.bytes);
  enter(is_led ? Phase::kWait : Phase::kAgree);
  return moved;
}

const char* RunAccess::text() const {
  const bool led = way_ == Way::kLed;
  if (reads()) return led ? "read: one run of each rank\nstrategy:  runs   # few bytes on one node: rank 0 reads them\n"
                          : "read: one run of each rank\nstrategy:  runs   # disjoint, on one node: each rank reads its own\n";
  return led ? "write: one run of each rank\nstrategy:  runs   # few bytes on one node: rank 0 writes them\n"
             : "write: one run of each rank\nstrategy:  runs   # disjoint, on one node: each rank writes its own\n";
}

Result<i64> RunAccess::move_own() const {
  if (mine_.bytes == 0) return i64{0};
  if (!reads()) return write_guarded(std::span(&mine_, 1));
  return probe_read(file_, mine_.bytes, [&] { return move_piece(file_, Direction::kRead, mine_); });
}

Result<i64> RunAccess::write_guarded(std::span<const IoPiece> pieces) const {
  MERCUTIO_LET(auto guard, guard_against_sieving(file_, pieces.front().offset, pieces.back().offset + pieces.back().bytes));
  return release_after(move_pieces(file_, Direction::kWrite, pieces), std::move(guard));
}

// A write is flushed, as that of other ranks' bytes is by every aggregator: later writes of these by others must reach the file after it.
Status RunAccess::lead() {
  std::byte data[kMostLedBytes];
  std::byte* next = data;
  const auto pieces = std::span(pieces_).first(piece_count_);
  for (IoPiece& piece : pieces) next = (piece.data = next) + piece.bytes;
  copied(next - data);
  const auto for_each_entry = [&](auto action) {   // with its place in `data`
    const IoPiece* piece = pieces.data();
    for (Entry* const entry : std::span(entries_).first(count_)) {
      while (entry->offset >= piece->offset + piece->bytes) ++piece;
      action(*entry, piece->data + (entry->offset - piece->offset));
    }
  };
  if (!reads()) {
    for_each_entry([](const Entry& entry, std::byte* at) { std::memcpy(at, entry.data, static_cast<size_t>(entry.bytes)); });
    MERCUTIO_TRY(write_guarded(pieces));
    return file_.storage->flush();
  }
  MERCUTIO_LET(i64 left, move_pieces(file_, Direction::kRead, pieces));
  for (const IoPiece& piece : pieces) {
    if (left < piece.bytes) end_ = std::min(end_, piece.offset + left);
    left = std::max<i64>(0, left - piece.bytes);
  }
  for_each_entry([&](Entry& entry, const std::byte* at) {
    if (end_ > entry.offset) std::memcpy(entry.data, at, static_cast<size_t>(std::min(end_, entry.end()) - entry.offset));
  });
  return ok_status();
}

i64 RunAccess::finish() const {
  if (way_ == Way::kOwn) return moved_;
  if (!reads() || mine_.bytes == 0) return mine_.bytes;
  const i64 bytes = std::clamp<i64>(end_ - mine_.offset, 0, mine_.bytes);
  if (bytes > 0) std::memcpy(mine_.data, own_, static_cast<size_t>(bytes));
  return bytes;
}

std::optional<Result<i64>> move_run_at_once(const EngineFile& file, const Channel& channel, Direction direction, const IoPiece& mine, RunsAtOnce& at_once) {
  if (!may_move_runs(file, channel) || !channel.ticket->is_current() || !expects_runs(file, direction)) return std::nullopt;
  if (file.counters) file.counters->clock.enter(Phase::kArrive);
  RunAccess access(file, channel, direction, mine);
  if (Status met = gather_at_once(channel, access.entry(), at_once.pause); !met) return std::move(met).error();
  at_once.declined = !access.decide();
  if (at_once.declined) return std::nullopt;
  if (Status all = agree_at_once(channel, access.move(), access.lowest(), at_once.pause); !all) return std::move(all).error();
  return access.finish();
}

Task<std::optional<Result<i64>>> move_runs(const EngineFile& file, const Channel& channel, Direction direction, std::optional<IoPiece> mine) {
  using Moved = std::optional<Result<i64>>;
  RunAccess access(file, channel, direction, mine);
  if (Status met = co_await gather_on_node(channel, access.entry()); !met) co_return Moved(std::move(met).error());
  if (!access.decide()) co_return std::nullopt;
  Status mine_moved = access.move();
  if (Status all = co_await agree(channel, std::move(mine_moved), access.lowest()); !all) co_return Moved(std::move(all).error());
  co_return Moved(access.finish());
}

}  // namespace mercutio
