#include "engine/pieces.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/attempt.h"
#include "engine/sieve_gate.h"

namespace mercutio {

void PieceReader::advance(i64 bytes) {
  offset_ += bytes;
  left_ -= bytes;
  if (left_ == 0) load();
}

void PieceReader::load() {
  if (left_ == 0 && index_ + 1 < run_.count) {
    ++index_;
  } else {
    index_ = 0;
    run_ = StridedRun{0, 0, 0, 0, {}};
    if (cursor_.done()) return;
    run_ = cursor_.next();
  }
  offset_ = run_.offset + index_ * run_.stride;
  left_ = run_.bytes;
}

void record(const EngineFile& file, TraceKind kind, i64 start_ns, i64 bytes, i64 offset, std::string_view detail) {
  if (file.trace) file.trace->record(TraceEvent{kind, start_ns, now_ns(), bytes, offset, detail});
}

TracedPhase::TracedPhase(const EngineFile& file, Phase phase) : file_(file) {
  const i64 switches = file.counters ? file.counters->clock.switches() : 0;
  if (file.counters) before_ = file.counters->clock.enter(phase);
  if (!file.trace) return;
  const bool read = file.counters && file.counters->clock.switches() != switches;
  start_ns_ = read ? file.counters->clock.last_ns() : now_ns();
}

i64 TracedPhase::end() {
  if (!std::exchange(open_, false)) return 0;
  const bool read = file_.counters && file_.counters->clock.leave(before_);
  if (!file_.trace) return 0;
  return read ? file_.counters->clock.last_ns() : now_ns();
}

void record_pieces(const EngineFile& file, Direction direction, Span when, std::span<const IoPiece> pieces, i64 bytes) {
  if (!file.trace) return;
  TraceEvent event{direction == Direction::kRead ? TraceKind::kStorageRead : TraceKind::kStorageWrite, when.start_ns, when.end_ns, bytes};
  event.offset = pieces.front().offset;
  event.pieces = static_cast<i64>(pieces.size());
  event.span = pieces.back().offset + pieces.back().bytes - event.offset;
  event.counters = file.counters;
  file.trace->record(event);
}

namespace {

// Lists of at least this many pieces are probed for blocking. For each further kPiecesWorthAThread pieces another thread of the
// transfer pool is used.
constexpr i64 kPiecesWorthAThread = 16;

// Storage that blocks serves several requests in the time of one. A list is divided into as many parts as the pool has threads. If
// the file is striped, each part has its own servers.
class Parts {
 public:
  Parts(std::span<const IoPiece> pieces, i64 parts, const Layout& layout) : pieces_(pieces), lists_(static_cast<std::size_t>(parts)) {
    const bool striped = layout.stripe_bytes > 0 && layout.stripe_count > 1;
    for (i64 i = 0; i < end_; ++i) {
      const i64 part = striped ? at(i).offset / layout.stripe_bytes % layout.stripe_count % parts : i * parts / end_;
      lists_[static_cast<std::size_t>(part)].push_back(i);
    }
    std::erase_if(lists_, [](const std::vector<i64>& list) { return list.empty(); });
  }

  // The result of the whole list: the bytes up to the first piece that the end of the file truncates, or an Error.
  Result<i64> move(Storage& storage, Direction direction) {
    std::vector<std::unique_ptr<Transfer>> others;
    for (std::size_t i = 1; i < lists_.size(); ++i) others.push_back(storage.start(direction, pieces_of(lists_[i])));
    const std::vector<IoPiece> mine = pieces_of(lists_[0]);
    Result<i64> result = direction == Direction::kRead ? storage.read(mine) : storage.write(mine);
    note_end(lists_[0], moved_of(result));
    for (std::size_t i = 1; i < lists_.size(); ++i) {
      Result<i64> other = others[i - 1]->wait();   // wait for all, because they use the caller's memory
      note_end(lists_[i], moved_of(other));
      if (!other && result) result = std::move(other);
    }
    i64 moved = rest_;
    for (i64 i = 0; i < end_; ++i) moved += at(i).bytes;
    if (!result) return std::move(result).error().of_nothing_moved().behind(moved);
    return moved;
  }

 private:
  const IoPiece& at(i64 index) const { return pieces_[static_cast<std::size_t>(index)]; }
  std::vector<IoPiece> pieces_of(const std::vector<i64>& list) const {
    std::vector<IoPiece> pieces;
    pieces.reserve(list.size());
    for (const i64 index : list) pieces.push_back(at(index));
    return pieces;
  }
  static i64 moved_of(const Result<i64>& result) { return result ? *result : result.error().moved; }
  // A part has moved this many bytes. If it ended early, the result of the list ends there at the latest.
  void note_end(const std::vector<i64>& list, i64 moved) {
    for (const i64 index : list) {
      if (moved < at(index).bytes && index < end_) end_ = index, rest_ = moved;
      if (moved < at(index).bytes) return;
      moved -= at(index).bytes;
    }
  }

  const std::span<const IoPiece> pieces_;
  std::vector<std::vector<i64>> lists_;   // indices of pieces, ascending
  i64 end_ = static_cast<i64>(pieces_.size()), rest_ = 0;   // all pieces before end_ were moved, and rest_ bytes of the next one
};

Result<i64> move_pieces(const EngineFile& file, Direction direction, std::span<const IoPiece> pieces) {
  const i64 count = static_cast<i64>(pieces.size());
  BlockingDetector* const blocking = count >= kPiecesWorthAThread ? file.blocking : nullptr;
  if (blocking && blocking->blocks()) {
    const i64 parts = std::min(file.hints->mercutio_io_threads, count / kPiecesWorthAThread);
    if (parts > 1) return Parts(pieces, parts, file.storage->layout()).move(*file.storage, direction);
  }
  const BlockingProbe probe(blocking);
  return direction == Direction::kRead ? file.storage->read(pieces) : file.storage->write(pieces);
}

Result<i64> transfer(const EngineFile& file, Direction direction, std::span<const IoPiece> pieces) {
  TracedPhase phase(file, Phase::kStorage);
  const CacheProbe probe(file.trace ? file.storage->cache_stats() : nullptr);
  Result<i64> moved = attempt([&] { return move_pieces(file, direction, pieces); });
  if (file.counters && probe.copied_only()) file.counters->clock.call_it(Phase::kCopy);
  const i64 end_ns = phase.end();
  const bool tell = direction == Direction::kRead || moved.ok();
  if (tell && !probe.absorbed()) record_pieces(file, direction, {phase.start_ns(), end_ns}, pieces, moved ? *moved : 0);
  return moved;
}

}  // namespace

Result<i64> read_pieces(const EngineFile& file, std::span<const IoPiece> pieces) {
  if (pieces.empty()) return i64{0};
  return transfer(file, Direction::kRead, pieces);
}

std::optional<Result<i64>> move_short_locked(const EngineFile& file, const Access& access, i64 begin, i64 end) {
  constexpr i64 kMostBytes = 64 * KiB;
  if (!file.storage->traits().remote_cluster || access.bytes > kMostBytes) return std::nullopt;
  std::vector<IoPiece> pieces;
  (void)for_each_piece(access, [&](const IoPiece& piece) -> Result<bool> {
    pieces.push_back(piece);
    return std::ssize(pieces) <= kPiecesPerCall;
  });
  if (std::ssize(pieces) > kPiecesPerCall) return std::nullopt;
  TracedPhase phase(file, Phase::kStorage);
  auto moved = file.storage->move_locked(access.direction, pieces, begin, end);
  const i64 end_ns = phase.end();
  if (!moved) return moved;
  if (access.direction == Direction::kWrite && file.dirty) file.dirty->store(true);
  if (access.direction == Direction::kRead || moved->ok()) record_pieces(file, access.direction, {phase.start_ns(), end_ns}, pieces, moved->ok() ? **moved : 0);
  return moved;
}

Result<std::unique_ptr<HeldLock>> lock_range(const EngineFile& file, i64 begin, i64 end, bool exclusive, std::string_view purpose) {
  TracedPhase phase(file, Phase::kLock);
  auto held = file.storage->lock(begin, end, exclusive);
  const i64 end_ns = phase.end();
  if (file.trace) file.trace->record(TraceEvent{TraceKind::kLock, phase.start_ns(), end_ns, end - begin, begin, purpose});
  return held;
}

Status read_to_merge(const EngineFile& file, IoPiece piece) {
  constexpr int kTries = 4;
  i64 got = 0;
  const auto merge = [&] {
    if (file.counters) file.counters->merged_bytes += got;
    std::memset(piece.data + got, 0, static_cast<size_t>(piece.bytes - got));
    return ok_status();
  };
  for (int tries = 0; tries < kTries; ++tries) {
    const IoPiece rest{piece.offset + got, piece.data + got, piece.bytes - got};
    MERCUTIO_LET(const i64 more, read_pieces(file, std::span(&rest, 1)));
    got += more;
    if (got == piece.bytes || !file.storage->traits().metadata_is_remote) return merge();
    MERCUTIO_LET(const i64 size, file.storage->size());
    if (size <= piece.offset + got) return merge();
  }
  return Error{ErrorClass::kIo, "the file is longer than what can be read of it: nothing is merged there", EIO, piece.offset + got, piece.bytes - got};
}

Status write_pieces(const EngineFile& file, std::span<const IoPiece> pieces) {
  if (pieces.empty()) return ok_status();
  Result<i64> moved = transfer(file, Direction::kWrite, pieces);
  if (file.dirty && !file.dirty->load()) file.dirty->store(true);   // also on failure: part of it may have been written
  return moved ? ok_status() : Status(std::move(moved).error());
}

Status PieceBatch::add(const IoPiece& piece) {
  if (!pieces_.empty()) {
    IoPiece& last = pieces_.back();
    if (last.offset + last.bytes == piece.offset && last.data + last.bytes == piece.data) {
      last.bytes += piece.bytes;
      return ok_status();
    }
    if (std::ssize(pieces_) == kPiecesPerCall) MERCUTIO_TRY(flush());
  }
  if (!cut_short_) pieces_.push_back(piece);
  return ok_status();
}

Status PieceBatch::flush() {
  const i64 wanted = bytes_of(pieces_);
  if (direction_ == Direction::kWrite) {
    if (Status written = write_pieces(file_, pieces_); !written) return std::move(written).error().behind(moved_);
    moved_ += wanted;
  } else {
    Result<i64> got = read_pieces(file_, pieces_);
    if (!got) return std::move(got).error().behind(moved_);
    moved_ += *got;
    cut_short_ = *got < wanted;
  }
  pieces_.clear();
  return ok_status();
}

Result<i64> PieceBatch::finish() {
  MERCUTIO_TRY(flush());
  return moved_;
}

bool only_copies(const EngineFile& file) {
  const Traits& traits = file.storage->traits();
  return !traits.metadata_is_remote && !traits.remote_cluster && traits.coherence == Coherence::kImmediate && !(file.blocking && file.blocking->blocks());
}

i64 buffer_bytes(const EngineFile& file, Direction direction) {
  constexpr i64 kInCache = 256 * KiB;
  const bool reading = direction == Direction::kRead;
  const i64 bytes = reading ? file.hints->ind_rd_buffer_size : file.hints->ind_wr_buffer_size;
  const bool by_default = bytes == (reading ? default_hints::ind_rd_buffer_size : default_hints::ind_wr_buffer_size);
  return by_default && !(file.blocking && file.blocking->blocks()) ? std::min(bytes, kInCache) : bytes;
}

bool hints_allow_sieving(const Hints& hints, const Traits& traits) {
  const bool cheap = !traits.metadata_is_remote && traits.coherence == Coherence::kImmediate;
  if (strategy_named(hints) == Strategy::kSieve) return true;
  return hints.romio_ds_write == Toggle::kEnable || (cheap && hints.romio_ds_write != Toggle::kDisable);
}

static bool can_sieve_writes(const EngineFile& file) {
  return file.scattered && file.storage->traits().can_lock && file.storage->traits().can_merge && file.readable;
}

Toggle sieving(const EngineFile& file, Direction direction) {
  if (file.sieving) return *file.sieving;
  return direction == Direction::kRead ? file.hints->romio_ds_read : file.hints->romio_ds_write;
}

bool may_sieve_writes(const EngineFile& file) {
  const Toggle wish = sieving(file, Direction::kWrite);
  if (wish == Toggle::kDisable || !file.any_sieves || !can_sieve_writes(file)) return false;
  return wish == Toggle::kEnable || hints_allow_sieving(*file.hints, file.storage->traits());
}

std::unique_ptr<HeldLock> leave_to_sieve(const EngineFile& file) {
  auto alone = file.storage->exclude_other_writers(sieving(file, Direction::kWrite) == Toggle::kEnable);
  return alone && file.gate ? file.gate->close(std::move(alone)) : std::move(alone);
}

Result<std::unique_ptr<HeldLock>> guard_against_sieving(const EngineFile& file, i64 begin, i64 end) {
  if (!file.comm || !file.any_sieves || !can_sieve_writes(file)) return std::unique_ptr<HeldLock>();
  if (file.gate) {
    if (auto pass = std::make_unique<SieveGate::Pass>(*file.gate, end - begin, file.blocking); pass->given()) return std::unique_ptr<HeldLock>(std::move(pass));
  }
  return lock_range(file, begin, end, /*exclusive=*/false, "plain write");   // writers without sieving don't conflict
}

}  // namespace mercutio
