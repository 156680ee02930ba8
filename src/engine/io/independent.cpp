// The access of one rank. One of three methods is chosen for each request:
//   direct   one storage piece for each piece that is contiguous in the file and in memory (one piece if both are contiguous),
//   staged   data packed through a buffer, one storage piece for each piece of the file,
//   sieved   whole windows of the file through a buffer (engine/io/sieve.cpp). The choice costs two seeks of O(depth log n) and a sample
//   of at most kSampleRuns runs.
#include "engine/io/independent.h"

#include <algorithm>

#include "base/attempt.h"
#include "engine/io/pieces.h"
#include "model/single_run.h"

namespace mercutio {
namespace {

constexpr i64 kSampleRuns = 64;
// A storage call costs about as much as moving this many bytes. If there is more than one piece per that many bytes of the file,
// moving windows is cheaper. Writes move a window twice. If reads only copy, windows gain nothing for pieces of a page or more with
// holes of a page or more.
constexpr i64 kSieveReadPitch = 16 * KiB;
constexpr i64 kSieveWritePitch = 8 * KiB;
constexpr i64 kSmallMemoryPiece = 2 * KiB;

enum class Method { kDirect, kStaged, kSieved };

// The properties of an access from which its method is chosen.
struct Shape {
  FileRange range;             // in the file
  bool contiguous = false;     // one piece in the file
  bool sorted = true;          // as the view
  i64 file_piece = 0;          // average bytes of a piece, sampled
  i64 memory_piece = 0;
};

i64 average_piece(Cursor cursor, i64 bytes) {
  i64 pieces = 0;
  const i64 begin = cursor.position();
  for (i64 i = 0; i < kSampleRuns && !cursor.done(); ++i) pieces += cursor.next().count;
  const i64 seen = cursor.position() - begin;
  return pieces == 0 ? bytes : std::max<i64>(1, seen / pieces);
}

Shape look_at(const Access& access) {
  const View& view = *access.view;
  const i64 end = access.position + access.bytes;
  Shape shape;
  shape.range = view.range_of(access.position, end);
  shape.sorted = view.sorted();
  shape.contiguous = shape.sorted && shape.range.bytes() == access.bytes;
  shape.file_piece = shape.contiguous ? access.bytes : average_piece(view.cursor(access.position, end), access.bytes);
  shape.memory_piece = access.memory.contiguous() ? access.bytes : average_piece(access.memory.cursor(), access.bytes);
  return shape;
}

// Whether the pieces are so close together that windows are cheaper. Floating point, because the product may overflow.
bool worth_sieving(const Access& access, const Shape& shape) {
  const double pitch = static_cast<double>(shape.range.bytes()) * static_cast<double>(shape.file_piece) / static_cast<double>(access.bytes);
  return access.bytes > 4 * shape.file_piece && pitch < static_cast<double>(access.reads() ? kSieveReadPitch : kSieveWritePitch);
}

bool pages_apart(const Access& access, const Shape& shape) {
  const i64 holes = (access.bytes - 1) / shape.file_piece;
  return shape.file_piece >= kCopiedHoleBytes && (shape.range.bytes() - access.bytes) / kCopiedHoleBytes >= holes;
}

bool should_sieve(const EngineFile& file, const Access& access, const Shape& shape, bool locked) {
  const bool reading = access.reads();
  const Toggle wish = sieving(file, access.direction);
  if (shape.contiguous || !shape.sorted || wish == Toggle::kDisable) return false;
  if (!reading && !(locked ? file.readable && file.storage->traits().can_merge : may_sieve_writes(file))) return false;
  if (wish == Toggle::kEnable) return true;
  return worth_sieving(access, shape) && !(reading && only_copies(file) && pages_apart(access, shape));
}

// `leave`: the lock that a write holds while it sieves.
Method choose(const EngineFile& file, const Access& access, const Shape& shape, bool locked, std::unique_ptr<HeldLock>& leave) {
  const bool sieve = should_sieve(file, access, shape, locked);
  if (sieve && !access.reads()) leave = leave_to_sieve(file);
  if (sieve && (access.reads() || leave)) return Method::kSieved;
  const bool small_memory = shape.memory_piece < kSmallMemoryPiece && shape.memory_piece < access.bytes;
  return small_memory ? Method::kStaged : Method::kDirect;
}

// The detector for a read whose pieces would be read in windows if the storage blocks: after the first blocked call the rest is
// read in windows. Null: the read is not of this kind.
const BlockingDetector* detector_for(const EngineFile& file, const Access& access, const Shape& shape) {
  if (!access.reads() || !file.blocking || shape.contiguous || !shape.sorted) return nullptr;
  return worth_sieving(access, shape) && sieving(file, Direction::kRead) == Toggle::kAutomatic ? file.blocking : nullptr;
}

bool blocks(const BlockingDetector* blocking) {
  return blocking && blocking->blocks();
}

Result<i64> move_direct(const EngineFile& file, const Access& access, const BlockingDetector* blocking) {
  PieceBatch batch(file, access.direction);
  i64 pieces = 0;
  MERCUTIO_TRY(for_each_piece(access, [&](const IoPiece& piece) -> Result<bool> {
    MERCUTIO_TRY(batch.add(piece));
    if (blocking && ++pieces == kSampleRuns) MERCUTIO_TRY(batch.flush());
    return !batch.cut_short() && !blocks(blocking);
  }));
  return batch.finish();
}

Result<i64> move_staged(const EngineFile& file, const Access& access, const Shape& shape, const BlockingDetector* blocking) {
  const bool reading = access.reads();
  ScratchBuffer buffer;
  Access chunk = access;
  Cursor memory = access.memory.cursor();
  i64 moved = 0;
  while (moved < access.bytes && !blocks(blocking)) {
    buffer.at_least(std::min(buffer_bytes(file, access.direction), access.bytes));
    chunk.position = access.position + moved;
    chunk.bytes = std::min(buffer.bytes, access.bytes - moved);
    chunk.memory = Memory{buffer.data.get(), contiguous_bytes(), chunk.bytes};
    if (!reading) {
      const PhaseScope phase(file.counters, Phase::kCopy);
      pack(memory, buffer.first(chunk.bytes));
    }
    Result<i64> got = shape.contiguous ? move_piece(file, access.direction, {shape.range.begin + moved, buffer.data.get(), chunk.bytes})
                                       : move_direct(file, chunk, /*blocking=*/nullptr);
    const PhaseScope phase(file.counters, Phase::kCopy);
    const i64 here = got ? *got : got.error().moved;
    if (reading && here > 0) unpack(memory, buffer.first(here));
    if (!got) return std::move(got).error().behind(moved);
    moved += here;
    if (here < chunk.bytes) break;   // end of file
  }
  return moved;
}

}  // namespace

Result<std::unique_ptr<HeldLock>> lock_extent(const EngineFile& file, const Access& access) {
  const FileRange range = access.view->range_of(access.position, access.position + access.bytes);
  return lock_range(file, range.begin, range.end, /*exclusive=*/!access.reads(), "atomic access");
}

Result<i64> independent(const EngineFile& file, const Access& access, Locking locking) {
  if (access.bytes <= 0) return i64{0};
  const bool reading = access.reads(), locked = locking != Locking::kNone;
  const Shape shape = look_at(access);
  std::unique_ptr<HeldLock> lock;
  if (locking == Locking::kTake) {
    if (auto moved = move_short_locked(file, access, shape.range.begin, shape.range.end)) return *std::move(moved);
    MERCUTIO_LET(lock, lock_extent(file, access));
  }
  std::unique_ptr<HeldLock> leave;
  const Method method = choose(file, access, shape, locked, leave);
  if (method == Method::kSieved) {
    const i64 start = file.trace ? now_ns() : 0;
    Result<i64> moved = reading ? sieve_read(file, access) : sieve_write(file, access, locked);
    record(file, TraceKind::kSieve, start, moved ? *moved : 0, shape.range.begin, reading ? "read" : "write");
    return release_after(std::move(moved), std::move(lock));
  }
  if (!reading && !locked) {
    MERCUTIO_LET(lock, guard_against_sieving(file, shape.range.begin, shape.range.end));
  }
  if (shape.contiguous && access.memory.contiguous()) {   // one run
    return release_after(move_piece(file, access.direction, {shape.range.begin, begin_of(access.memory), access.bytes}), std::move(lock));
  }
  const BlockingDetector* blocking = detector_for(file, access, shape);
  Result<i64> moved = method == Method::kStaged ? move_staged(file, access, shape, blocking) : move_direct(file, access, blocking);
  if (moved && *moved < access.bytes && blocks(blocking)) moved = sieve_read(file, access, *moved);
  return release_after(std::move(moved), std::move(lock));
}

Result<i64> move_own(EngineFile file, const Access& access, const Plan* plan, bool atomic) {
  if (access.bytes == 0) return i64{0};
  if (plan && plan->strategy == Strategy::kList) file.sieving = Toggle::kDisable;
  if (plan && plan->strategy == Strategy::kSieve) file.sieving = Toggle::kEnable;
  const auto move = [&] { return attempt([&] { return independent(file, access, atomic ? Locking::kTake : Locking::kNone); }); };
  return access.reads() ? probe_read(file, access.bytes, move) : move();
}

}  // namespace mercutio
