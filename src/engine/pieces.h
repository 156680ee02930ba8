// Pieces: from cursors to vectored storage calls. Inside engine/ only.
#pragma once

#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

#include "base/reserve.h"
#include "engine/engine.h"

namespace mercutio {

inline constexpr i64 kPiecesPerCall = 1024;

// Reads a cursor one contiguous piece at a time, and any part of a piece at a time.
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

// A short access under a lock of [begin, end), in one request of the storage. Nothing: it can't do that.
std::optional<Result<i64>> move_short_locked(const EngineFile& file, const Access& access, i64 begin, i64 end);

// A phase whose begin and end are also traced, with one clock reading each.
class TracedPhase {
 public:
  TracedPhase(const EngineFile& file, Phase phase);
  ~TracedPhase() { end(); }
  TracedPhase(const TracedPhase&) = delete;
  TracedPhase& operator=(const TracedPhase&) = delete;
  i64 start_ns() const { return start_ns_; }  // 0: no trace
  i64 end();                                  // the time; 0: no trace

 private:
  const EngineFile& file_;
  Phase before_ = Phase::kOwn;
  i64 start_ns_ = 0;
  bool open_ = true;
};

// Tells whether a storage call was served by the cache of the storage. If several threads use the file, one may see the
// calls of another; the trace then has a request too many or too few.
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

// The storage calls of an access: they are counted and traced, and writes set `dirty`.
Result<i64> read_pieces(const EngineFile& file, std::span<const IoPiece> pieces);
Status write_pieces(const EngineFile& file, std::span<const IoPiece> pieces);
// Reads what is to be merged and written back; short only where the file has no more. A node may hold an end of the file that isn't the
// end any more, so that storage whose sizes are a server's is asked. kIo: it has more, but doesn't give it.
Result<i64> read_to_merge(const EngineFile& file, IoPiece piece);
void record(const EngineFile& file, TraceKind kind, i64 start_ns, i64 bytes, i64 offset, std::string_view detail = {});
struct Span {
  i64 start_ns = 0, end_ns = 0;
};
void record_pieces(const EngineFile& file, Direction direction, Span when, std::span<const IoPiece> pieces, i64 bytes);

// Collects pieces, joins adjacent ones, and passes them to the storage kPiecesPerCall at a time.
class PieceBatch {
 public:
  PieceBatch(const EngineFile& file, Direction direction) : file_(file), direction_(direction) {}
  Status add(i64 offset, std::byte* data, i64 bytes);
  // Transfers the remaining pieces. Returns all bytes moved; fewer only for a read at the end of the file.
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

// A buffer that is not initialised.
struct ScratchBuffer {
  explicit ScratchBuffer(i64 size) : data(new std::byte[static_cast<size_t>(size)]), bytes(size) {}
  // Null: out of memory; the reserve is not used.
  static std::unique_ptr<ScratchBuffer> try_make(i64 size) {
    const SparesReserve spares;
    try {
      return std::make_unique<ScratchBuffer>(size);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  Bytes first(i64 n) const { return Bytes(data.get(), static_cast<size_t>(n)); }
  // Discards the contents if it grows.
  void at_least(i64 size) {
    if (size > bytes) *this = ScratchBuffer(size);
  }
  std::unique_ptr<std::byte[]> data;
  i64 bytes;
};

// Whether the storage is known to only copy: it is no server, and no call has blocked. A call then costs about as much
// as copying a page, so reading holes between pieces that are further apart gains nothing.
bool only_copies(const EngineFile& file);
inline constexpr i64 kCopiedHoleBytes = 4 * KiB;

// The buffer size of an independent access: the hint. Without a hint it is at most what stays in the cache of a core
// between filling and emptying, as long as no storage call has blocked.
i64 buffer_bytes(const EngineFile& file, Direction direction);

// Other ranks of this open, and other threads, may sieve: they read, merge and write back the bytes between the pieces
// of this write, under a range lock. A write without sieving therefore holds a lock on its range wherever sieving
// writers are possible. Null: none is possible.
Result<std::unique_ptr<HeldLock>> guard_against_sieving(const EngineFile& file, i64 begin, i64 end);

// Whether writes may be sieved: the storage can lock and be read, and no hint forbids it. On storage where a lock is a
// message to a server, only if a hint asks for it.
bool may_sieve_writes(const EngineFile& file);
// A lock to hold while sieving a write, in addition to the range lock: other opens write without range locks. Null:
// another open has the file open for writing, so pieces must be written as they are. Where that is unknown, a hint that
// asks for sieving asserts that there is none.
std::unique_ptr<HeldLock> leave_to_sieve(const EngineFile& file);

}  // namespace mercutio
