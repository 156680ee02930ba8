#include "engine/pieces.h"

#include <algorithm>

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

void record_pieces(const EngineFile& file, Direction direction, i64 start_ns, std::span<const IoPiece> pieces, i64 bytes) {
  if (!file.trace) return;
  TraceEvent event{direction == Direction::kRead ? TraceKind::kStorageRead : TraceKind::kStorageWrite, start_ns, now_ns(), bytes};
  event.offset = pieces.front().offset;
  event.pieces = static_cast<i64>(pieces.size());
  event.span = pieces.back().offset + pieces.back().bytes - event.offset;
  file.trace->record(event);
}

Result<i64> read_pieces(const EngineFile& file, std::span<const IoPiece> pieces) {
  if (pieces.empty()) return i64{0};
  const PhaseScope phase(file.counters, Phase::kStorage);
  const i64 start = file.trace ? now_ns() : 0;
  Result<i64> moved = file.storage->read(pieces);
  record_pieces(file, Direction::kRead, start, pieces, moved ? *moved : 0);
  return moved;
}

Status write_pieces(const EngineFile& file, std::span<const IoPiece> pieces) {
  if (pieces.empty()) return ok_status();
  const PhaseScope phase(file.counters, Phase::kStorage);
  const i64 start = file.trace ? now_ns() : 0;
  if (file.dirty) file.dirty->store(true);   // also when it fails: some of it may have arrived
  Result<i64> moved = file.storage->write(pieces);
  if (!moved) return std::move(moved).error();
  record_pieces(file, Direction::kWrite, start, pieces, *moved);
  return ok_status();
}

Status PieceBatch::add(i64 offset, std::byte* data, i64 bytes) {
  if (!pieces_.empty()) {
    IoPiece& last = pieces_.back();
    if (last.offset + last.bytes == offset && last.data + last.bytes == data) {
      last.bytes += bytes;
      return ok_status();
    }
    if (static_cast<i64>(pieces_.size()) == kPiecesPerCall) MERCUTIO_TRY(flush());
  }
  if (!cut_short_) pieces_.push_back(IoPiece{offset, data, bytes});
  return ok_status();
}

Status PieceBatch::flush() {
  i64 wanted = 0;
  for (const IoPiece& piece : pieces_) wanted += piece.bytes;
  if (direction_ == Direction::kWrite) {
    MERCUTIO_TRY(write_pieces(file_, pieces_));
    moved_ += wanted;
  } else {
    MERCUTIO_LET(const i64 got, read_pieces(file_, pieces_));
    moved_ += got;
    cut_short_ = got < wanted;
  }
  pieces_.clear();
  return ok_status();
}

Result<i64> PieceBatch::finish() {
  MERCUTIO_TRY(flush());
  return moved_;
}

namespace {

bool locks_are_remote(const Traits& traits) {
  static constexpr std::string_view kRemote[] = {"nfs",  "lustre", "gpfs", "beegfs", "cifs",      "smb",
                                                 "ceph", "orangefs", "pvfs2", "glusterfs", "fuse", "mercutio"};
  return !traits.visibility_immediate ||
         std::find(std::begin(kRemote), std::end(kRemote), traits.file_system) != std::end(kRemote);
}

}  // namespace

bool may_sieve_writes(const EngineFile& file) {
  const Traits& traits = file.storage->traits();
  if (!file.scattered || !traits.can_lock || !file.readable || file.hints->romio_ds_write == Toggle::kDisable) return false;
  return file.hints->romio_ds_write == Toggle::kEnable || !locks_are_remote(traits);
}

Result<std::unique_ptr<HeldLock>> guard_against_sieving(const EngineFile& file, i64 begin, i64 end) {
  if (!file.comm || file.comm->size() == 1 || !may_sieve_writes(file)) return std::unique_ptr<HeldLock>();
  const PhaseScope phase(file.counters, Phase::kLock);
  const i64 start = file.trace ? now_ns() : 0;
  auto held = file.storage->lock(begin, end, /*exclusive=*/false);   // plain writers do not disturb each other
  record(file, TraceKind::kLock, start, end - begin, begin, "plain write");
  return held;
}

}  // namespace mercutio
