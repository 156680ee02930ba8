// Data sieving: moves many small pieces as few whole windows of the file (Thakur, Gropp, Lusk, "Data sieving and collective I/O in ROMIO", 1999).
// Windows begin and end on requested bytes, so a write never touches a byte before the first or after the last one, and never extends the file
// further. Writes with holes read the window first. Memory: the sieve buffer.
#include "engine/io/pieces.h"

#include <algorithm>

namespace mercutio {
namespace {

// The stream range [begin, end) of the view, and the file range [first, last) that contains it and fits into the buffer.
struct Window {
  i64 begin, end, first, last;
  bool has_holes() const { return last - first > end - begin; }
  bool is_long() const { return last - first >= 64 * KiB; }   // to copy it takes longer than to ask twice how often the thread has slept
};

Window next_window(const View& view, i64 position, i64 end, i64 buffer_bytes) {
  Window w;
  w.begin = position;
  w.first = view.file_offset(position);
  w.end = std::clamp(view.stream_position(w.first + buffer_bytes), position + 1, end);
  w.last = view.file_offset(w.end - 1) + 1;
  return w;
}

Result<i64> read_window(const EngineFile& file, const Window& w, const ScratchBuffer& buffer) {
  const BlockingProbe probe(file.blocking, w.is_long());
  return move_piece(file, Direction::kRead, {w.first, buffer.data.get(), w.last - w.first});
}

Status write_window(const EngineFile& file, const View& view, const Window& w, Cursor& memory, const ScratchBuffer& buffer) {
  const BlockingProbe probe(file.blocking, w.is_long());
  const i64 span = w.last - w.first;
  std::byte* data = buffer.data.get();
  const IoPiece whole{w.first, data, span};
  if (w.has_holes()) {
    const PhaseScope phase(file.counters, Phase::kSieve);
    if (Status read = read_to_merge(file, whole); !read) return std::move(read).error().of_nothing_moved();   // of what is to be written
    Cursor target = view.cursor_in(data, w.first, w.begin, w.end);
    copy(memory, target, w.end - w.begin);
  } else {
    const PhaseScope phase(file.counters, Phase::kCopy);
    pack(memory, buffer.first(span));
  }
  Result<i64> written = move_piece(file, Direction::kWrite, whole);
  if (written) return ok_status();
  Error error = std::move(written).error();
  const i64 reached = std::clamp(view.stream_position(w.first + error.moved), w.begin, w.end) - w.begin;   // without the holes
  return std::move(error).of_nothing_moved().behind(reached);
}

}  // namespace

Result<i64> sieve_read(const EngineFile& file, const Access& access, i64 done) {
  const View& view = *access.view;
  const i64 end = access.position + access.bytes;
  const i64 span = view.range_of(access.position, end).bytes();
  ScratchBuffer buffer;
  Cursor memory(access.memory.type, reinterpret_cast<i64>(access.memory.base), done, access.bytes);
  i64 position = access.position + done;
  while (position < end) {
    buffer.at_least(std::min(buffer_bytes(file, Direction::kRead), span));
    const Window w = next_window(view, position, end, buffer.bytes);
    Result<i64> read = read_window(file, w, buffer);
    const i64 got = read ? *read : read.error().moved;
    const i64 reached = got == w.last - w.first ? w.end : std::clamp(view.stream_position(w.first + got), w.begin, w.end);
    Cursor source = view.cursor_in(buffer.data.get(), w.first, w.begin, w.end);
    const PhaseScope phase(file.counters, Phase::kCopy);
    if (reached > w.begin) copy(source, memory, reached - w.begin);
    if (file.counters) file.counters->hole_bytes += got - (reached - w.begin);
    position = reached;
    if (!read) return std::move(read).error().of_nothing_moved().behind(position - access.position);
    if (reached < w.end) break;   // end of file
  }
  return position - access.position;
}

Result<i64> sieve_write(const EngineFile& file, const Access& access, bool locked) {
  const View& view = *access.view;
  const i64 end = access.position + access.bytes;
  const i64 span = view.range_of(access.position, end).bytes();
  ScratchBuffer buffer;
  Cursor memory = access.memory.cursor();
  for (i64 position = access.position; position < end;) {
    buffer.at_least(std::min(buffer_bytes(file, Direction::kWrite), span));
    const Window w = next_window(view, position, end, buffer.bytes);
    std::unique_ptr<HeldLock> lock;
    if (!locked && w.has_holes()) {
      MERCUTIO_LET(lock, lock_range(file, w.first, w.last, /*exclusive=*/true, "sieved write"));
    } else if (!locked) {
      MERCUTIO_LET(lock, guard_against_sieving(file, w.first, w.last));
    }
    Status written = write_window(file, view, w, memory, buffer);
    if (!written) return std::move(written).error().behind(position - access.position);
    position = w.end;
    if (Status released = release(std::move(lock)); !released) return std::move(released).error().behind(position - access.position);
  }
  return access.bytes;
}

}  // namespace mercutio
