// The checks. O(pieces) for types that are spelled out.
#include "walk.h"

#include <algorithm>
#include <cstring>

#include "model/flat_node.h"

namespace mercutio::fuzz {
namespace {

constexpr i64 kMostPieces = 2000;
constexpr i64 kMostBytes = 20000;      // of all copies, walked byte by byte
constexpr i64 kMostSpan = 64 * KiB;    // of a buffer to pack from
constexpr i64 kFar = i64{1} << 60;

using Kind = FlatNode::Kind;

class Speller {
 public:
  explicit Speller(i64 most) : most_(most) {}
  bool node(const FlatNode& n, i64 at);
  std::vector<Piece> pieces;

 private:
  bool copies(const FlatNode& n, i64 count, i64 stride, i64 at) {
    for (i64 i = 0; i < count; ++i)
      if (!node(n, at + i * stride)) return false;
    return true;
  }
  bool piece(i64 at, i64 bytes) {
    pieces.push_back({at, bytes});
    return static_cast<i64>(pieces.size()) <= most_;
  }
  i64 most_;
};

bool Speller::node(const FlatNode& n, i64 at) {
  if (n.kind == Kind::kRun) return piece(at, n.size);
  if (n.kind == Kind::kStrided) return copies(*n.child, n.count, n.stride, at);
  for (i64 i = 0; i < n.entries(); ++i) {
    const i64 bytes = n.entry_bytes(i), place = at + n.offset_at(i);
    bool fits = true;
    if (n.kind == Kind::kRuns) fits = piece(place, bytes);
    if (n.kind == Kind::kBlocks) fits = copies(*n.child, bytes / n.child->size, n.stride, place);
    if (n.kind == Kind::kStruct) fits = node(n.child_at(i), place);
    if (!fits) return false;
  }
  return true;
}

bool any_byte_twice(std::vector<Piece> pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.offset < b.offset; });
  for (std::size_t i = 1; i < pieces.size(); ++i)
    if (pieces[i - 1].offset + pieces[i - 1].bytes > pieces[i].offset) return true;
  return false;
}

bool starts_never_go_back(const std::vector<Piece>& pieces) {
  return std::is_sorted(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.offset < b.offset; });
}

std::vector<Piece> tiled(const FlatType& type, const std::vector<Piece>& pieces, i64 copies) {
  std::vector<Piece> out;
  for (i64 c = 0; c < copies; ++c)
    for (const Piece& p : pieces) out.push_back({p.offset + c * type.extent(), p.bytes});
  return out;
}

// Every place where data begins or ends, or-ed together. Pieces that touch are one; the copies go on after the last one.
i64 alignment_bits(const FlatType& type, const std::vector<Piece>& all, i64 copies) {
  i64 bits = all.front().offset, end = all.front().offset;
  for (const Piece& p : all) {
    if (p.offset != end) bits |= end | p.offset;
    end = p.offset + p.bytes;
  }
  const bool goes_on = copies > 1 && end == all.front().offset + copies * type.extent();
  return goes_on ? bits : bits | end;
}

i64 copies_within(const FlatType& type, i64 wanted) {
  return std::min(type.stream_bytes() / type.size(), wanted);
}

// There must be as many copies as keep everything within kFar.
void check_stream(const FlatType& type) {
  const i64 reach = std::max({type.extent() < 0 ? -type.extent() : type.extent(), type.true_extent(), type.size(), i64{1}});
  FUZZ_CHECK(type.stream_bytes() % type.size() == 0 && type.stream_bytes() / type.size() >= std::max<i64>(1, kFar / reach), "stream_bytes()");
}

void check_walk(const FlatTypeRef& type, const std::vector<i64>& offsets, i64 begin, i64 end, Random& random) {
  constexpr i64 kOrigin = 1000;
  const auto run_text = [](const StridedRun& r) {
    return "run of " + std::to_string(r.count) + " x " + std::to_string(r.bytes) + " at " + std::to_string(r.offset) + ", " + std::to_string(r.stride) + " apart";
  };
  const bool whole = begin == 0 && end == static_cast<i64>(offsets.size());
  Cursor cursor(type, kOrigin, begin, end);
  i64 position = begin, previous_end = INT64_MIN;
  while (!cursor.done()) {
    FUZZ_CHECK(cursor.position() == position, "the cursor's position");
    const i64 most_bytes = whole ? INT64_MAX : pick(random, 1, 40), most_pieces = whole ? INT64_MAX : pick(random, 1, 5);
    const StridedRun run = cursor.next(most_bytes, most_pieces);
    FUZZ_CHECK(run.count >= 1 && run.bytes >= 1 && run.count <= most_pieces && run.bytes <= most_bytes / run.count, run_text(run));
    FUZZ_CHECK(run.bytes <= (end - position) / run.count, run_text(run) + " beyond the end");
    for (i64 p = 0; p < run.count; ++p) {
      const i64 at = run.offset + p * run.stride;
      if (whole && !type->keeps_kinds()) FUZZ_CHECK(at != previous_end, "touching pieces at " + std::to_string(position));
      previous_end = at + run.bytes;
      for (i64 b = 0; b < run.bytes; ++b, ++position)
        FUZZ_CHECK(at + b == kOrigin + offsets[static_cast<std::size_t>(position)], "the place of byte " + std::to_string(position));
    }
  }
  FUZZ_CHECK(position == end, "the walk ends at " + std::to_string(position) + " of " + std::to_string(end));
}

void check_searches(const FlatType& type, const std::vector<i64>& offsets, i64 copies, Random& random) {
  const auto total = static_cast<i64>(offsets.size());
  for (int i = 0; i < 8; ++i) {
    const i64 position = pick(random, 0, total - 1);
    FUZZ_CHECK(type.offset_of(position) == offsets[static_cast<std::size_t>(position)], "offset_of(" + std::to_string(position) + ")");
  }
  // Below an offset lie bytes of these copies only, where the copies after them begin later.
  if (type.extent() <= 0 || type.true_extent() / type.extent() > 64 || copies < 2) return;
  const i64 limit = type.true_lb() + copies * type.extent();
  for (int i = 0; i < 4; ++i) {
    const i64 offset = pick(random, type.true_lb() - 1, limit);
    const i64 below = std::count_if(offsets.begin(), offsets.end(), [&](i64 at) { return at < offset; });
    FUZZ_CHECK(type.bytes_below(offset) == below, "bytes_below(" + std::to_string(offset) + "), not " + std::to_string(below));
  }
}

}  // namespace

std::optional<std::vector<Piece>> spell_out(const FlatType& type, i64 most) {
  if (type.size() == 0) return std::vector<Piece>{};
  Speller speller(most);
  if (!speller.node(type.root(), type.offset_of(0))) return std::nullopt;
  return std::move(speller.pieces);
}

std::vector<i64> bytes_of(const FlatType& type, const std::vector<Piece>& pieces, i64 copies) {
  std::vector<i64> offsets;
  for (const Piece& p : tiled(type, pieces, copies))
    for (i64 b = 0; b < p.bytes; ++b) offsets.push_back(p.offset + b);
  return offsets;
}

void check_properties(const FlatType& type, const std::vector<Piece>& pieces) {
  i64 size = 0, low = INT64_MAX, high = INT64_MIN;
  for (const Piece& p : pieces) {
    size += p.bytes;
    low = std::min(low, p.offset);
    high = std::max(high, p.offset + p.bytes);
  }
  FUZZ_CHECK(type.size() == size, "the size of one copy");
  if (size == 0) return;
  check_stream(type);
  FUZZ_CHECK(type.true_lb() == low && type.true_lb() + type.true_extent() == high, "the true bounds");
  FUZZ_CHECK(type.pieces() == static_cast<i64>(pieces.size()), "the number of pieces");
  const i64 copies = copies_within(type, 3);
  const std::vector<Piece> all = tiled(type, pieces, copies);
  FUZZ_CHECK(alignment_bits(type, all, copies) % type.alignment() == 0, "the alignment");
  FUZZ_CHECK(type.monotone_once() == starts_never_go_back(pieces), "monotone_once()");
  FUZZ_CHECK(type.overlapping_once() || !any_byte_twice(pieces), "overlapping_once()");
  FUZZ_CHECK(type.overlapping() || !any_byte_twice(all), "overlapping()");
  FUZZ_CHECK(!type.monotone() || starts_never_go_back(all), "monotone()");
  FUZZ_CHECK(copies == 1 || type.monotone() || !starts_never_go_back(all), "not monotone()");
  FUZZ_CHECK(type.negative() == (low < 0 || type.lb() < 0), "negative()");
  FUZZ_CHECK(!type.contiguous() || (low == 0 && high == size && type.extent() == size && type.lb() == 0 && starts_never_go_back(pieces)),
             "contiguous()");
}

void check_cursors(const FlatTypeRef& type, const std::vector<i64>& offsets, Random& random) {
  const auto total = static_cast<i64>(offsets.size());
  check_walk(type, offsets, 0, total, random);
  for (int i = 0; i < 3; ++i) {
    i64 begin = pick(random, 0, total), end = pick(random, 0, total);
    if (begin > end) std::swap(begin, end);
    check_walk(type, offsets, begin, end, random);
  }
}

void check_packing(const FlatTypeRef& type, const std::vector<i64>& offsets) {
  const auto [low, high] = std::minmax_element(offsets.begin(), offsets.end());
  const i64 lowest = *low, span = *high - lowest + 1;
  std::vector<std::byte> memory(static_cast<std::size_t>(span)), back(memory.size()), packed(offsets.size());
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 37 + (i >> 8) + 1);
  Cursor from(type, reinterpret_cast<i64>(memory.data()) - lowest, 0, static_cast<i64>(offsets.size()));
  pack(from, packed);
  FUZZ_CHECK(from.done(), "pack does not reach the end");
  for (std::size_t i = 0; i < packed.size(); ++i)
    FUZZ_CHECK(packed[i] == memory[static_cast<std::size_t>(offsets[i] - lowest)], "packed byte " + std::to_string(i));
  Cursor to(type, reinterpret_cast<i64>(back.data()) - lowest, 0, static_cast<i64>(offsets.size()));
  unpack(to, packed);
  std::vector<std::byte> expected(memory.size());
  for (const i64 at : offsets) expected[static_cast<std::size_t>(at - lowest)] = memory[static_cast<std::size_t>(at - lowest)];
  FUZZ_CHECK(back == expected, "what unpack wrote");
}

void check_samples(const FlatTypeRef& type, Random& random) {
  const i64 low = type->true_lb(), high = low + type->true_extent();
  for (int i = 0; i < 6; ++i) {
    const i64 position = pick(random, 0, type->size() - 1);
    Cursor cursor(type, 0, position, type->size());
    for (int n = 0; n < 16 && !cursor.done(); ++n) {
      const i64 at = cursor.position();
      const StridedRun run = cursor.next(pick(random, 1, 1 << 20), pick(random, 1, 64));
      const i64 last = run.offset + (run.count - 1) * run.stride;
      FUZZ_CHECK(run.offset == type->offset_of(at), "where the cursor stands");
      FUZZ_CHECK(last == type->offset_of(at + (run.count - 1) * run.bytes), "the last piece of a run");
      FUZZ_CHECK(std::min(run.offset, last) >= low && std::max(run.offset, last) + run.bytes <= high, "a run outside the true bounds");
      FUZZ_CHECK(cursor.position() == at + run.count * run.bytes && cursor.position() <= type->size(), "the cursor's position");
    }
    if (type->monotone() && !type->overlapping())
      FUZZ_CHECK(type->bytes_below(type->offset_of(position)) == position, "bytes_below is not the inverse of offset_of");
  }
}

void check_type(const FlatTypeRef& type, Random& random) {
  const auto pieces = spell_out(*type, kMostPieces);
  if (!pieces) return check_samples(type, random);
  check_properties(*type, *pieces);
  if (type->size() == 0) return;
  if (type->size() > kMostBytes) return check_samples(type, random);
  const i64 copies = copies_within(*type, std::min<i64>(3, kMostBytes / type->size()));
  const std::vector<i64> offsets = bytes_of(*type, *pieces, copies);
  check_cursors(type, offsets, random);
  check_searches(*type, offsets, copies, random);
  const auto [low, high] = std::minmax_element(offsets.begin(), offsets.end());
  if (*high - *low < kMostSpan) check_packing(type, offsets);
}

}  // namespace mercutio::fuzz
