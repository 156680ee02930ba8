// Pieces: how cursors become vectored storage calls. Inside engine/ only.
#pragma once

#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "base/reserve.h"
#include "engine/engine.h"

namespace mercutio {

inline constexpr i64 kPiecesPerCall = 1024;

// A cursor read one contiguous piece at a time, and any part of a piece at a time.
class PieceReader {
 public:
  explicit PieceReader(Cursor cursor) : cursor_(std::move(cursor)) { load(); }
  bool done() const { return left_ == 0; }
  i64 offset() const { return offset_; }
  i64 left() const { return left_; }          // bytes of the current piece
  void advance(i64 bytes);                    // bytes <= left()

 private:
  void load();
  Cursor cursor_;
  StridedRun run_;
  i64 index_ = 0;                             // piece of run_
  i64 offset_ = 0, left_ = 0;
};

// A phase whose begin and end the trace needs, too: one reading of the clock each.
class TracedPhase {
 public:
  TracedPhase(const EngineFile& file, Phase phase);
  ~TracedPhase() { end(); }
  TracedPhase(const TracedPhase&) = delete;
  TracedPhase& operator=(const TracedPhase&) = delete;
  i64 start_ns() const { return start_ns_; }  // 0: nobody traces
  i64 end();                                  // the time; 0: nobody traces

 private:
  const EngineFile& file_;
  Phase before_ = Phase::kOwn;
  i64 start_ns_ = 0;
  bool open_ = true;
};

// Whether a call of the storage stayed in its buffer. With several threads on a file one may see another's: the trace then has
// a request too many or too few.
class CacheProbe {
 public:
  explicit CacheProbe(const EngineFile& file) : stats_(file.trace ? file.storage->cache_stats() : nullptr) {
    if (stats_) calls_ = stats_->calls.load(std::memory_order_relaxed), requests_ = stats_->requests.load(std::memory_order_relaxed);
  }
  bool absorbed() const { return stats_ && stats_->calls.load(std::memory_order_relaxed) != calls_; }
  bool copied_only() const { return absorbed() && stats_->requests.load(std::memory_order_relaxed) == requests_; }

 private:
  const CacheStats* stats_;
  i64 calls_ = 0, requests_ = 0;
};

// Storage calls of one access: counted, traced, and marked as having changed the file.
Result<i64> read_pieces(const EngineFile& file, std::span<const IoPiece> pieces);
Status write_pieces(const EngineFile& file, std::span<const IoPiece> pieces);
void record(const EngineFile& file, TraceKind kind, i64 start_ns, i64 bytes, i64 offset, std::string_view detail = {});
struct Span {
  i64 start_ns = 0, end_ns = 0;
};
void record_pieces(const EngineFile& file, Direction direction, Span when, std::span<const IoPiece> pieces, i64 bytes);

// Collects pieces, joins those that touch, and hands them to the storage kPiecesPerCall at a time.
class PieceBatch {
 public:
  PieceBatch(const EngineFile& file, Direction direction) : file_(file), direction_(direction) {}
  Status add(i64 offset, std::byte* data, i64 bytes);
  // Moves what is left. The bytes moved since the beginning; short only for a read at end of file.
  Result<i64> finish();
  bool cut_short() const { return cut_short_; }
  Status flush();

 private:
  const EngineFile& file_;
  Direction direction_;
  std::vector<IoPiece> pieces_;
  i64 moved_ = 0;
  bool cut_short_ = false;
};

// A buffer that is not cleared first.
struct ScratchBuffer {
  explicit ScratchBuffer(i64 size) : data(new std::byte[static_cast<size_t>(size)]), bytes(size) {}
  // Null: there is no memory for it, and the reserve is left alone.
  static std::unique_ptr<ScratchBuffer> try_make(i64 size) {
    const SparesReserve spares;
    try {
      return std::make_unique<ScratchBuffer>(size);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  Bytes first(i64 n) const { return Bytes(data.get(), static_cast<size_t>(n)); }
  // What was in it is gone if it grows.
  void at_least(i64 size) {
    if (size > bytes) *this = ScratchBuffer(size);
  }
  std::unique_ptr<std::byte[]> data;
  i64 bytes;
};

// As far as is known, the storage only copies: it is no server, and nobody has waited for it. A call then costs what copying a page
// does, and nothing is gained by reading the holes between pieces that are further apart.
bool only_copies(const EngineFile& file);
inline constexpr i64 kCopiedHoleBytes = 4 * KiB;

// Bytes that an independent access moves through a buffer at once: what the hint says. Without one no more than stays in a
// core's cache while it is filled and emptied, as long as the storage has not made anybody wait.
i64 buffer_bytes(const EngineFile& file, Direction direction);

// Ranks of this open, and other threads of this one, may rewrite the bytes between our pieces while we write: they read, merge
// and write back under a range lock. A write that does not sieve itself therefore holds a lock on what it touches wherever
// sieving writers can exist. Null: none can.
Result<std::unique_ptr<HeldLock>> guard_against_sieving(const EngineFile& file, i64 begin, i64 end);

// Whether reading, merging and writing back may be allowed at all: the storage can lock and be read, and no hint forbids it.
// On storage where locks are remote calls, only when asked for.
bool may_sieve_writes(const EngineFile& file);
// Held by whoever sieves a write, beside the range lock: other opens of the file write without one. Null: somebody has the
// file open for writing through another open, so pieces must be written as they are. Where that can't be known, a hint that asks
// for sieving is the program's word that there is nobody.
std::unique_ptr<HeldLock> leave_to_sieve(const EngineFile& file);

}  // namespace mercutio
