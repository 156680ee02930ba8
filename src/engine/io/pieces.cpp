#include "engine/io/pieces.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/attempt.h"
#include "engine/io/sieve_gate.h"
#include "storage/parts.h"

namespace mercutio {

void PieceReader::advance(i64 bytes) {
  offset_ += bytes;
  left_ -= bytes;
  if (left_ == 0) load();
}

void PieceReader::load() {
  run_.offset += run_.stride;
  if (--run_.count <= 0) {
    if (cursor_.done()) return;
    run_ = cursor_.next();
  }
  offset_ = run_.offset;
  left_ = run_.bytes;
}

void record(const EngineFile& file, TraceKind kind, i64 start_ns, i64 bytes, i64 offset, std::string_view detail) {
  if (file.trace) file.trace->record(TraceEvent{kind, start_ns, now_ns(), bytes, offset, detail});
}

void record_pieces(const EngineFile& file, Direction direction, i64 start_ns, std::span<const IoPiece> pieces, i64 bytes) {
  if (!file.trace) return;
  TraceEvent event{direction == Direction::kRead ? TraceKind::kStorageRead : TraceKind::kStorageWrite, start_ns, now_ns(), bytes};
  event.offset = pieces.front().offset;
  event.pieces = static_cast<i64>(pieces.size());
  event.span = pieces.back().offset + pieces.back().bytes - event.offset;
  event.counters = file.counters;
  file.trace->record(event);
}

// Lists of at least this many pieces are probed for blocking. For each further kPiecesWorthAThread pieces another thread of the
// transfer pool is used.
constexpr i64 kPiecesWorthAThread = 16;

static Result<i64> call_storage(const EngineFile& file, Direction direction, std::span<const IoPiece> pieces) {
  const i64 count = static_cast<i64>(pieces.size());
  BlockingDetector* const blocking = count >= kPiecesWorthAThread ? file.blocking : nullptr;
  if (blocking && blocking->blocks()) {
    const i64 parts = std::min(file.hints->mercutio_io_threads, count / kPiecesWorthAThread);
    if (parts > 1) return move_in_parts(*file.storage, direction, pieces, parts);
  }
  const BlockingProbe probe(blocking);
  return direction == Direction::kRead ? file.storage->read(pieces) : file.storage->write(pieces);
}

Result<i64> move_pieces(const EngineFile& file, Direction direction, std::span<const IoPiece> pieces) {
  if (pieces.empty()) return i64{0};
  const i64 start = file.trace ? now_ns() : 0;
  const CacheProbe probe(file.trace ? file.storage->cache_stats() : nullptr);
  Result<i64> moved = attempt([&] {
    const PhaseScope phase(file.counters, Phase::kStorage);
    Result<i64> here = call_storage(file, direction, pieces);
    if (file.counters && probe.copied_only()) file.counters->clock.call_it(Phase::kCopy);
    return here;
  });
  const bool writes = direction == Direction::kWrite;
  if (!probe.absorbed() && (moved || !writes)) record_pieces(file, direction, start, pieces, moved ? *moved : 0);
  if (writes && file.dirty && !file.dirty->load()) file.dirty->store(true);   // also on failure: part of it may have been written
  return moved;
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
  const i64 start = file.trace ? now_ns() : 0;
  auto moved = [&] {
    const PhaseScope phase(file.counters, Phase::kStorage);
    return file.storage->move_locked(access.direction, pieces, begin, end);
  }();
  if (!moved) return moved;
  if (!access.reads() && file.dirty) file.dirty->store(true);
  if (access.reads() || moved->ok()) record_pieces(file, access.direction, start, pieces, moved->ok() ? **moved : 0);
  return moved;
}

Result<std::unique_ptr<HeldLock>> lock_range(const EngineFile& file, i64 begin, i64 end, bool exclusive, std::string_view purpose) {
  const i64 start = file.trace ? now_ns() : 0;
  auto held = [&] {
    const PhaseScope phase(file.counters, Phase::kLock);
    return file.storage->lock(begin, end, exclusive);
  }();
  record(file, TraceKind::kLock, start, end - begin, begin, purpose);
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
    MERCUTIO_LET(const i64 more, move_piece(file, Direction::kRead, rest));
    got += more;
    if (got == piece.bytes || !file.storage->traits().metadata_is_remote) return merge();
    MERCUTIO_LET(const i64 size, file.storage->size());
    if (size <= piece.offset + got) return merge();
  }
  return Error{ErrorClass::kIo, "the file is longer than what can be read of it: nothing is merged there", EIO, piece.offset + got, piece.bytes - got};
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
  Result<i64> moved = move_pieces(file_, direction_, pieces_);
  if (!moved) return std::move(moved).error().behind(moved_);
  moved_ += *moved;
  cut_short_ = *moved < wanted;
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
  return file.sieved && file.storage->traits().can_lock && file.storage->traits().can_merge && file.readable;
}

Toggle sieving(const EngineFile& file, Direction direction) {
  if (file.sieving) return *file.sieving;
  return direction == Direction::kRead ? file.hints->romio_ds_read : file.hints->romio_ds_write;
}

bool may_sieve_writes(const EngineFile& file) {
  const Toggle wish = sieving(file, Direction::kWrite);
  if (wish == Toggle::kDisable || !can_sieve_writes(file)) return false;
  return wish == Toggle::kEnable || hints_allow_sieving(*file.hints, file.storage->traits());
}

std::unique_ptr<HeldLock> leave_to_sieve(const EngineFile& file) {
  auto alone = file.storage->exclude_other_writers(sieving(file, Direction::kWrite) == Toggle::kEnable);
  // A rank that has died while it wrote has left its counter behind.
  return alone && file.gate ? file.gate->close(std::move(alone), !file.comm->failed(/*may_call=*/false)) : std::move(alone);
}

Result<std::unique_ptr<HeldLock>> guard_against_sieving(const EngineFile& file, i64 begin, i64 end) {
  if (!can_sieve_writes(file)) return std::unique_ptr<HeldLock>();
  if (file.gate) {
    if (auto pass = std::make_unique<SieveGate::Pass>(*file.gate, end - begin, file.blocking); pass->given()) return std::unique_ptr<HeldLock>(std::move(pass));
  }
  return lock_range(file, begin, end, /*exclusive=*/false, "plain write");   // writers without sieving don't conflict
}

}  // namespace mercutio
