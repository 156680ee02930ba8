#include "engine/runs.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/attempt.h"
#include "engine/early.h"
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
  return ranks > 1 && ranks <= RunLimits::kMostRanks;
}

bool are_runs(const Gathered& all) {
  const Pattern& pattern = all.pattern;
  if (pattern.contiguous != pattern.participants || all.choices.hints.buffering == static_cast<i64>(Toggle::kEnable)) return false;
  return pattern.disjoint || (pattern.direction == Direction::kRead && pattern.bytes <= pattern.participants * RunLimits::kEntryBytes);
}

static bool hints_permit_runs(const EngineFile& file, Direction direction) {
  return file.hints->buffering(direction) != Toggle::kEnable && file.hints->mercutio_strategy == WantedStrategy::kAuto;
}

std::optional<IoPiece> run_of(const EngineFile& file, const Access& access, const CollectiveOptions& options) {
  if (!hints_permit_runs(file, access.direction)) return std::nullopt;
  if (!options.entry || options.atomic || options.alone || (options.more && *options.more)) return std::nullopt;
  if (access.bytes == 0) return IoPiece{};
  const i64 offset = access.memory.contiguous() ? offset_of_run(*access.view, access.position, access.bytes) : -1;
  return offset >= 0 ? std::optional(IoPiece{offset, begin_of(access.memory), access.bytes}) : std::nullopt;
}

namespace {

// The access of a rank, before, between and after its gathers.
class RunAccess {
 public:
  // Moves this rank's data, if the ranks move early.
  RunAccess(const EngineFile& file, const Channel& channel, Direction direction, const std::optional<IoPiece>& mine)
      : file_(file), channel_(channel), direction_(direction), mine_(mine.value_or(IoPiece{})),
        early_(move_early(file, mine && file.patterns->moves_early(direction), [&] { return move_own(); })) {
    enter(Phase::kArrive);
    entry_.flags = early_.may ? kMayMoveEarly : 0;
    if (!mine) return;
    entry_.flags |= kMovesOwn | (early_.moved ? kMovedEarly : 0) | (is_short() ? kIsShort : 0);
    entry_.offset = mine_.offset;
    entry_.bytes = mine_.bytes;
    entry_.early_ns = early_.ns;
    if (reads() || (entry_.flags & kIsShort) == 0 || mine_.bytes == 0) return;
    std::memcpy(entry_.data, mine_.data, static_cast<size_t>(mine_.bytes));
    entry_bytes_ += static_cast<size_t>(mine_.bytes);
  }

  ConstBytes entry() const { return std::as_bytes(std::span(&entry_, 1)).first(entry_bytes_); }   // what is gathered first
  bool is_over() const { return over_; }   // all ranks have moved their data early
  i64 moved() const { return moved_; }     // if all ranks have succeeded: after decide(), if it is over, or else after move()

  // What all ranks do. False: they go on with enter().
  bool decide() {
    const i64 ranks = channel_.comm->size();
    i64 flags = kMovesOwn | kIsShort | kMovedEarly | kMayMoveEarly, longest_ns = 0;
    for (i64 i = 0; i < ranks; ++i) {
      const Entry& entry = entry_of(i);
      flags &= entry.flags;
      longest_ns = std::max(longest_ns, entry.early_ns);
      if (entry.bytes > 0) entries_[count_++] = &entry;
    }
    over_ = (flags & kMovedEarly) != 0;
    if (over_) moved_ = *early_.moved;
    if (over_ && file_.counters) end_wait(file_.counters->clock, early_, longest_ns);
    enter(Phase::kOwn);
    way_ = way_of_all(flags);
    file_.patterns->tried_runs(direction_, way_ != Way::kNone);
    file_.patterns->saw_own(direction_, way_ == Way::kOwn, (flags & kMayMoveEarly) != 0);
    const bool goes_on = !over_ && way_ == Way::kNone;
    if (!goes_on && file_.trace && file_.trace->keeps_texts()) record(file_, TraceKind::kPlan, now_ns(), 0, -1, text());
    return !goes_on;
  }

  // The part of this rank, if it is not over. Then the ranks agree on its status.
  Status move() {
    const bool is_led = way_ == Way::kLed && !channel_.ticket->arena().is_first();
    Status moved = attempt([&]() -> Status {
      if (is_led || count_ == 0) return ok_status();
      if (way_ == Way::kLed) return lead();
      MERCUTIO_LET(moved_, move_own());
      return ok_status();
    });
    if (way_ == Way::kLed) moved_ = mine_.bytes;
    if (way_ == Way::kLed && file_.counters) file_.counters->copied_bytes += mine_.bytes;
    enter(is_led ? Phase::kWait : Phase::kAgree);
    return moved;
  }

 private:
  static constexpr i64 kMovesOwn = 1, kIsShort = 2, kMovedEarly = 4, kMayMoveEarly = 8;   // flags
  static constexpr size_t kMostLedPieces = 8;

  struct Entry {
    i64 flags = 0, offset = 0, bytes = 0;
    i64 early_ns = 0;   // engine/early.h
    std::byte data[RunLimits::kEntryBytes];
    i64 end() const { return offset + bytes; }
  };
  static_assert(sizeof(Entry) <= NodeArena::kGatherBytes && std::is_trivially_copyable_v<Entry>);
  enum class Way { kNone, kOwn, kLed };

  const Entry& entry_of(i64 member) const { return *reinterpret_cast<const Entry*>(channel_.ticket->arena().contribution(member)); }
  bool reads() const { return direction_ == Direction::kRead; }
  void enter(Phase phase) const {
    if (file_.counters) file_.counters->clock.enter(phase);
  }

  // Whether the bytes of this rank may be led, or read where others read them, too.
  bool is_short() const {
    if (mine_.bytes > short_bytes()) return false;
    const bool plain = file_.hints->buffering(direction_) == Toggle::kAutomatic && file_.hints->mercutio_exchange == WantedExchange::kAuto;
    return plain && only_copies(file_);
  }
  i64 short_bytes() const {   // the most bytes that may
    if (reads()) return RunLimits::kEntryBytes;
    if (!file_.core_each) return 0;
    return channel_.comm->size() > RunLimits::kFewRanks ? RunLimits::kEntryBytes : RunLimits::kShortBytes;
  }

  Way way_of_all(i64 flags) {
    if ((flags & kMovesOwn) == 0) return Way::kNone;
    const bool are_short = (flags & kIsShort) != 0;
    if (reads() && are_short) return Way::kOwn;
    const auto by_offset = [](const Entry* a, const Entry* b) { return a->offset < b->offset; };
    const auto entries = std::span(entries_).first(count_);
    if (!std::is_sorted(entries.begin(), entries.end(), by_offset)) std::sort(entries.begin(), entries.end(), by_offset);
    i64 end = -1, bytes = 0;   // of the entries so far
    size_t pieces = 0;         // that cover them
    for (const Entry* const entry : entries) {
      if (entry->offset < end) return Way::kNone;
      pieces += entry->offset > end;
      bytes += entry->bytes;
      end = entry->end();
    }
    const bool saves_calls = pieces < count_ || channel_.comm->size() > RunLimits::kFewRanks;
    return !reads() && are_short && saves_calls && bytes <= RunLimits::kMostLedBytes && pieces <= kMostLedPieces ? Way::kLed : Way::kOwn;
  }

  const char* text() const {   // for explain
    if (way_ == Way::kLed && !over_) return "write: one run of each rank\nstrategy:  runs   # few bytes on one node: rank 0 writes them\n";
    return reads() ? "read: one run of each rank\nstrategy:  runs   # on one node: each rank reads its own\n"
                   : "write: one run of each rank\nstrategy:  runs   # on one node: each rank writes its own\n";
  }

  Result<i64> move_own() const {
    if (mine_.bytes == 0) return i64{0};
    if (reads()) return probe_read(file_, mine_.bytes, [&] { return move_piece(file_, Direction::kRead, mine_); });
    return write_guarded(std::span(&mine_, 1));
  }

  Result<i64> write_guarded(std::span<const IoPiece> pieces) const {
    MERCUTIO_LET(auto guard, guard_against_sieving(file_, pieces.front().offset, pieces.back().offset + pieces.back().bytes));
    return release_after(move_pieces(file_, Direction::kWrite, pieces), std::move(guard));
  }

  // What is written is flushed, as by every aggregator: later writes of these bytes by other ranks must reach the file after it.
  Status lead() {
    std::byte data[RunLimits::kMostLedBytes];
    std::byte* next = data;
    std::array<IoPiece, kMostLedPieces> pieces;
    size_t count = 0;
    i64 end = -1;   // of the entries so far
    for (const Entry* const entry : std::span(entries_).first(count_)) {
      if (entry->offset > end) pieces[count++] = IoPiece{entry->offset, next, 0};
      pieces[count - 1].bytes += entry->bytes;
      std::memcpy(next, entry->data, static_cast<size_t>(entry->bytes));
      next += entry->bytes;
      end = entry->end();
    }
    if (file_.counters) file_.counters->copied_bytes += next - data;
    MERCUTIO_TRY(write_guarded(std::span(pieces).first(count)));
    return file_.storage->flush();
  }

  const EngineFile& file_;
  const Channel& channel_;
  const Direction direction_;
  const IoPiece mine_;
  const EarlyMove early_;
  Entry entry_;
  size_t entry_bytes_ = RunLimits::kHeadBytes;
  Way way_ = Way::kNone;
  bool over_ = false;
  std::array<const Entry*, RunLimits::kMostRanks> entries_;   // those with data, by offset: the first `count_`
  size_t count_ = 0;
  i64 moved_ = 0;
};

}  // namespace

std::optional<Result<i64>> move_run_at_once(const EngineFile& file, const Channel& channel, Direction direction, const IoPiece& mine, const Pause& pause) {
  if (!may_move_runs(file, channel) || !channel.ticket->is_current() || !file.patterns->expects_runs(direction)) return std::nullopt;
  RunAccess access(file, channel, direction, hints_permit_runs(file, direction) ? std::optional(mine) : std::nullopt);
  if (Status met = gather_at_once(channel, access.entry(), pause); !met) return std::move(met).error();
  if (!access.decide()) return std::nullopt;
  if (access.is_over()) return access.moved();
  if (Status all = agree_at_once(channel, access.move(), pause); !all) return std::move(all).error();
  return access.moved();
}

Task<std::optional<Result<i64>>> move_runs(const EngineFile& file, const Channel& channel, Direction direction, std::optional<IoPiece> mine) {
  using Moved = std::optional<Result<i64>>;
  RunAccess access(file, channel, direction, mine);
  if (Status met = co_await gather_on_node(channel, access.entry()); !met) co_return Moved(std::move(met).error());
  if (!access.decide()) co_return std::nullopt;
  if (access.is_over()) co_return Moved(access.moved());
  Status mine_moved = access.move();
  if (Status all = co_await agree(channel, std::move(mine_moved)); !all) co_return Moved(std::move(all).error());
  co_return Moved(access.moved());
}

}  // namespace mercutio
