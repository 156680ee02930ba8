// Pieces: vectored storage calls from cursors, and data sieving. Inside engine/ only.
#pragma once

#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

#include "base/reserve.h"
#include "engine/io/engine_file.h"

namespace mercutio {

inline constexpr i64 kPiecesPerCall = 1024;

// Iterates over the contiguous pieces of a cursor, whole or in parts.
class PieceReader {
 public:
  explicit PieceReader(Cursor cursor) : cursor_(std::move(cursor)) { load(); }
  bool done() const { return left_ == 0; }
  i64 offset() const { return offset_; }
  i64 left() const { return left_; }          // remaining bytes of the current piece
  void advance(i64 bytes);                    // bytes <= left()

 private:
  void load();
  Cursor cursor_;
  StridedRun run_{};                          // the current piece and those that follow
  i64 offset_ = 0, left_ = 0;
};

// Calls action(piece) for each piece of an access that is contiguous in the file and in memory, until it returns false
// or an Error.
template <class Action>
Status for_each_piece(const Access& access, Action action) {
  PieceReader in_file(access.view->cursor(access.position, access.position + access.bytes));
  PieceReader in_memory(access.memory.cursor());
  for (bool more = true; more && !in_file.done() && !in_memory.done();) {
    const i64 bytes = std::min(in_file.left(), in_memory.left());
    MERCUTIO_LET(more, action(IoPiece{in_file.offset(), reinterpret_cast<std::byte*>(in_memory.offset()), bytes}));
    in_file.advance(bytes);
    in_memory.advance(bytes);
  }
  return ok_status();
}

// Executes a short access under a lock of [begin, end) as one request of the storage. Returns nothing if the storage does not
// support it.
std::optional<Result<i64>> move_short_locked(const EngineFile& file, const Access& access, i64 begin, i64 end);

// The storage calls of an access. They are counted and traced. Writes set `dirty`.
Result<i64> move_pieces(const EngineFile& file, Direction direction, std::span<const IoPiece> pieces);
inline Result<i64> move_piece(const EngineFile& file, Direction direction, const IoPiece& piece) { return move_pieces(file, direction, std::span(&piece, 1)); }
// Calls `read`, which reads that many bytes, and records whether it blocked, on which the next plan depends.
template <class Read>
Result<i64> probe_read(const EngineFile& file, i64 bytes, Read read) {
  BlockingDetector* const blocking = bytes >= BlockingDetector::kTellingBytes ? file.blocking : nullptr;
  const BlockingDetector::Probe probe = blocking ? blocking->before(/*closely=*/true) : BlockingDetector::Probe{};
  Result<i64> moved = read();
  if (blocking && moved) blocking->saw_read(*moved, probe);
  return moved;
}
// Reads data that will be merged and written back, with zeros for what is beyond the end of the file. A node may have an outdated file size,
// so if the storage's size is kept by a server, the server is asked. kIo: the file is longer, but the data could not be read.
Status read_to_merge(const EngineFile& file, IoPiece piece);
// A lock of [begin, end). It is traced with what it is for.
Result<std::unique_ptr<HeldLock>> lock_range(const EngineFile& file, i64 begin, i64 end, bool exclusive, std::string_view purpose);
void record(const EngineFile& file, TraceKind kind, i64 start_ns, i64 bytes, i64 offset, std::string_view detail = {});
void record_pieces(const EngineFile& file, Direction direction, i64 start_ns, std::span<const IoPiece> pieces, i64 bytes);

// Collects pieces, joins adjacent ones, and passes them to the storage, kPiecesPerCall at a time.
class PieceBatch {
 public:
  PieceBatch(const EngineFile& file, Direction direction) : file_(file), direction_(direction) {}
  Status add(const IoPiece& piece);
  // Transfers the remaining pieces. Returns the bytes moved by all calls; fewer than requested only for a read at the end of the
  // file.
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

// An uninitialised buffer.
struct ScratchBuffer {
  ScratchBuffer() = default;   // without memory
  explicit ScratchBuffer(i64 size) : data(new std::byte[static_cast<size_t>(size)]), bytes(size) {}
  // Null: no memory. Does not use the reserve.
  static std::unique_ptr<ScratchBuffer> try_make(i64 size) {
    const SparesReserve spares;
    try {
      return std::make_unique<ScratchBuffer>(size);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  Bytes first(i64 n) const { return Bytes(data.get(), static_cast<size_t>(n)); }
  // Ensures the size. Discards the contents if the buffer grows.
  void at_least(i64 size) {
    if (size > bytes) *this = ScratchBuffer(size);
  }
  std::unique_ptr<std::byte[]> data;
  i64 bytes = 0;
};

// Whether the storage is known to copy only: it is not a server, and no call has blocked. A call then costs about as much as
// copying a page, so reading large holes between pieces gains nothing.
bool only_copies(const EngineFile& file);
inline constexpr i64 kCopiedHoleBytes = 4 * KiB;

// The buffer size of an independent access: the hint, if set. Otherwise it is limited to what stays in a core's cache between
// filling and emptying the buffer, unless a storage call has blocked.
i64 buffer_bytes(const EngineFile& file, Direction direction);

// Other ranks of this open and other threads may sieve: under a range lock they read, merge and write back the bytes between the
// pieces of this write. A write without sieving therefore locks its range if sieving writers are possible, unless the gate of the file says
// that none sieves now (engine/io/sieve_gate.h). Null: none are possible.
Result<std::unique_ptr<HeldLock>> guard_against_sieving(const EngineFile& file, i64 begin, i64 end);

// What the plan, or else the hint, says of sieving.
Toggle sieving(const EngineFile& file, Direction direction);
// Whether writes may be sieved: the storage supports locks and reads, and no hint forbids it. If a lock needs a message to a
// server, a hint must ask for it.
bool may_sieve_writes(const EngineFile& file);
// A lock to hold while sieving a write, in addition to the range lock, because other opens write without range locks, and other ranks as long as
// the gate of the file is open. Null: another open has the file open for writing, or a write of another rank does not end, so the pieces
// must be written separately. If other opens are unknown, a hint that asks for sieving is taken as the assertion that there is none.
std::unique_ptr<HeldLock> leave_to_sieve(const EngineFile& file);

// Data sieving (engine/io/sieve.cpp). Reads whole windows and copies the requested bytes out of them. Starts after the first `done` bytes of the
// access, which count as read. Requires a monotone, non-overlapping view.
Result<i64> sieve_read(const EngineFile& file, const Access& access, i64 done = 0);
// Writes window by window: locks the window exclusively, reads it, merges the data, and writes it back. A window without holes is
// neither read nor locked. `locked`: the caller holds a lock on the whole access.
Result<i64> sieve_write(const EngineFile& file, const Access& access, bool locked);

}  // namespace mercutio
