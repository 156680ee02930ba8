// pack, unpack, copy: cursors at both ends, runs copied in batches of equal pieces. Small power-of-two pieces become
// fixed size moves; the cost of a batch is that of one Cursor::next().
#include <atomic>
#include <cstdint>
#include <cstring>

#include "model/copy_run.h"
#include "model/cursor_impl.h"

namespace mercutio {
namespace {

std::byte* address(i64 offset) {
  return reinterpret_cast<std::byte*>(offset);
}

struct Batch {
  std::byte* to;
  const std::byte* from;
  i64 to_stride, from_stride, bytes, count;
};

template <std::size_t kBytes>
void move_fixed(const Batch& b) {
  std::byte* to = b.to;
  const std::byte* from = b.from;
  for (i64 i = 0; i < b.count; ++i, to += b.to_stride, from += b.from_stride) std::memcpy(to, from, kBytes);
}

void move_batch(const Batch& b) {
  switch (b.bytes) {
    case 1:
      return move_fixed<1>(b);
    case 2:
      return move_fixed<2>(b);
    case 4:
      return move_fixed<4>(b);
    case 8:
      return move_fixed<8>(b);
    case 12:
      return move_fixed<12>(b);
    case 16:
      return move_fixed<16>(b);
    case 24:
      return move_fixed<24>(b);
    case 32:
      return move_fixed<32>(b);
    case 64:
      return move_fixed<64>(b);
    default:
      break;
  }
  std::byte* to = b.to;
  const std::byte* from = b.from;
  for (i64 i = 0; i < b.count; ++i, to += b.to_stride, from += b.from_stride) copy_run(to, from, b.bytes);
}

// What is left of a run that came from a cursor.
struct Rest {
  StridedRun run{0, 0, 0, 0, {}};
  i64 dense() const { return run.count == 1 ? run.bytes : 0; }
  void skip(i64 pieces, i64 bytes) {  // whole pieces, then bytes of the next
    run.count -= pieces;
    run.offset += pieces * run.stride + bytes;
    if (bytes > 0) run.bytes -= bytes;
  }
};

// Takes the first piece of `rest` off as a run of its own.
Rest split_first(Rest& rest) {
  Rest first = rest;
  first.run.count = 1;
  rest.skip(1, 0);
  return first;
}

// A source of pieces: a run of count 1 in `head` is used up before the batch in `tail`.
struct Pieces {
  Rest head, tail;
  void refill(Cursor& cursor, i64 bytes) {
    if (head.run.count == 0 && tail.run.count == 0) tail.run = CursorImpl::take(cursor, bytes, INT64_MAX);
    if (head.run.count == 0 && tail.run.count == 1) std::swap(head, tail);
  }
  bool batch() const { return head.run.count == 0; }
  void to_single() {
    if (batch()) head = split_first(tail);
  }
};

void use_dense(Rest& head, i64 bytes) {
  head.run.offset += bytes;
  head.run.bytes -= bytes;
  if (head.run.bytes == 0) head.run.count = 0;
}

i64 copy_some(Pieces& from, Pieces& to) {
  if (from.batch() && to.batch()) {
    if (from.tail.run.bytes == to.tail.run.bytes) {
      StridedRun &f = from.tail.run, &t = to.tail.run;
      const i64 count = std::min(f.count, t.count);
      move_batch({address(t.offset), address(f.offset), t.stride, f.stride, f.bytes, count});
      from.tail.skip(count, 0);
      to.tail.skip(count, 0);
      return count * f.bytes;
    }
    (from.tail.run.bytes > to.tail.run.bytes ? from : to).to_single();
  }
  if (from.batch() && to.head.run.bytes < from.tail.run.bytes) from.to_single();
  if (to.batch() && from.head.run.bytes < to.tail.run.bytes) to.to_single();
  if (from.batch()) {  // pieces into a dense run
    StridedRun& f = from.tail.run;
    const i64 count = std::min(f.count, to.head.run.bytes / f.bytes), bytes = count * f.bytes;
    move_batch({address(to.head.run.offset), address(f.offset), f.bytes, f.stride, f.bytes, count});
    from.tail.skip(count, 0);
    use_dense(to.head, bytes);
    return bytes;
  }
  if (to.batch()) {
    StridedRun& t = to.tail.run;
    const i64 count = std::min(t.count, from.head.run.bytes / t.bytes), bytes = count * t.bytes;
    move_batch({address(t.offset), address(from.head.run.offset), t.stride, t.bytes, t.bytes, count});
    to.tail.skip(count, 0);
    use_dense(from.head, bytes);
    return bytes;
  }
  const i64 bytes = std::min(from.head.run.bytes, to.head.run.bytes);
  std::memcpy(address(to.head.run.offset), address(from.head.run.offset), static_cast<std::size_t>(bytes));
  use_dense(from.head, bytes);
  use_dense(to.head, bytes);
  return bytes;
}

// One side of pack and unpack: `packed` runs along a buffer, the other side is memory.
template <bool kPack>
struct Packing {
  std::byte* packed;  // only read from when unpacking

  void batch(const StridedRun& run) {
    if constexpr (kPack)
      move_batch({packed, address(run.offset), run.bytes, run.stride, run.bytes, run.count});
    else
      move_batch({address(run.offset), packed, run.stride, run.bytes, run.bytes, run.count});
    packed += run.bytes * run.count;
  }

  void piece(i64 offset, i64 bytes) {
    std::byte* to = kPack ? packed : address(offset);
    const std::byte* from = kPack ? address(offset) : packed;
    copy_run(to, from, bytes);
    packed += bytes;
  }

  template <std::size_t kBytes, class Offsets>
  void fixed(i64 origin, Offsets offsets, i64 begin, i64 end) {
    std::byte* at = packed;   // what is moved may alias the member
    for (i64 i = begin; i < end; ++i) {
      std::byte* memory = address(origin + offsets[i]);
      std::memcpy(kPack ? at : memory, kPack ? memory : at, kBytes);
      at += kBytes;
    }
    packed = at;
  }

  template <class Offsets>
  void equal_pieces(i64 origin, Offsets offsets, i64 begin, i64 end, i64 bytes) {
    switch (bytes) {
      case 4:
        return fixed<4>(origin, offsets, begin, end);
      case 8:
        return fixed<8>(origin, offsets, begin, end);
      case 16:
        return fixed<16>(origin, offsets, begin, end);
      case 32:
        return fixed<32>(origin, offsets, begin, end);
      default:
        for (i64 i = begin; i < end; ++i) piece(origin + offsets[i], bytes);
    }
  }

  void run(Cursor& memory, i64 bytes) {
    while (bytes > 0) {
      const i64 whole = CursorImpl::take_runs(memory, bytes, *this);
      bytes -= whole;
      if (bytes == 0) return;
      if (whole > 0) continue;
      const StridedRun run = CursorImpl::take(memory, bytes, INT64_MAX);
      batch(run);
      bytes -= run.bytes * run.count;
    }
  }
};

// Ranks that read the same bytes set the same flags at the same time, so stores are atomic, eight flags a store.
void set_many_marks(std::byte* at, i64 units) {
  constexpr std::uint64_t kEight = 0x0101010101010101;
  const auto set_one = [&] {
    std::atomic_ref(*at++).store(std::byte{1}, std::memory_order_relaxed);
    --units;
  };
  while (units > 0 && reinterpret_cast<std::uintptr_t>(at) % sizeof kEight != 0) set_one();
  for (; units >= 8; units -= 8, at += 8)
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at)).store(kEight, std::memory_order_relaxed);
  while (units > 0) set_one();
}

inline void set_units(std::byte* at, i64 units) {
  if (units > 8) return set_many_marks(at, units);
  for (const std::byte* end = at + units; at < end; ++at) std::atomic_ref(*at).store(std::byte{1}, std::memory_order_relaxed);
}

// Marks instead of bytes.
struct ValidSetter {
  i64 base;
  std::byte* valid;
  int shift;

  void piece(i64 offset, i64 bytes) {
    set_units(valid + ((offset - base) >> shift), bytes >> shift);
  }

  template <class Offsets>
  void equal_pieces(i64 origin, Offsets offsets, i64 begin, i64 end, i64 bytes) {
    for (i64 i = begin; i < end; ++i) {
      const i64 offset = origin + offsets[i];
      bytes >> shift == 1 ? std::atomic_ref(valid[(offset - base) >> shift]).store(std::byte{1}, std::memory_order_relaxed) : piece(offset, bytes);
    }
  }

  void batch(const StridedRun& run) {
    for (i64 i = 0, offset = run.offset; i < run.count; ++i, offset += run.stride) piece(offset, run.bytes);
  }
};

// A layout that is one run: packed bytes.
bool dense(const Cursor& c) {
  return CursorImpl::is_dense(c);
}

}  // namespace

void pack(Cursor& memory, Bytes packed) {
  Packing<true>{packed.data()}.run(memory, static_cast<i64>(packed.size()));
}

void unpack(Cursor& memory, ConstBytes packed) {
  Packing<false>{const_cast<std::byte*>(packed.data())}.run(memory, static_cast<i64>(packed.size()));
}

void set_valid(Cursor layout, i64 base, std::byte* valid, int shift) {
  ValidSetter setter{base, valid, shift};
  while (!layout.done()) {
    if (CursorImpl::take_runs(layout, layout.remaining(), setter) == 0) setter.batch(CursorImpl::take(layout, layout.remaining(), INT64_MAX));
  }
}

// Two irregular layouts of small pieces: through a buffer in the nearest cache, so that each side goes at its own pace.
static void copy_staged(Cursor& from, Cursor& to, i64 bytes) {
  std::byte staged[16 * KiB];
  while (bytes > 0) {
    const std::size_t some = static_cast<std::size_t>(std::min<i64>(bytes, sizeof staged));
    pack(from, {staged, some});
    unpack(to, {staged, some});
    bytes -= static_cast<i64>(some);
  }
}

void copy(Cursor& from, Cursor& to, i64 bytes) {
  if (bytes > 0 && dense(from)) {
    unpack(to, {address(CursorImpl::next_offset(from)), static_cast<std::size_t>(bytes)});
    return from.seek(from.position() + bytes);
  }
  if (bytes > 0 && dense(to)) {
    pack(from, {address(CursorImpl::next_offset(to)), static_cast<std::size_t>(bytes)});
    return to.seek(to.position() + bytes);
  }
  if (CursorImpl::small_runs(from) || CursorImpl::small_runs(to)) return copy_staged(from, to, bytes);
  Pieces source, target;
  i64 from_left = bytes, to_left = bytes;
  while (bytes > 0) {
    const bool more_from = source.head.run.count == 0 && source.tail.run.count == 0;
    const bool more_to = target.head.run.count == 0 && target.tail.run.count == 0;
    const i64 from_at = from.position(), to_at = to.position();
    source.refill(from, from_left);
    target.refill(to, to_left);
    if (more_from) from_left -= from.position() - from_at;
    if (more_to) to_left -= to.position() - to_at;
    bytes -= copy_some(source, target);
  }
}

}  // namespace mercutio
