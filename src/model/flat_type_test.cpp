// FlatType and Cursor against the oracle: thousands of random types, every question asked of every byte.
#include "model/flat_type.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "model/type_oracle.h"

namespace mercutio {
namespace {

using oracle::byte_offsets;
using oracle::Typemap;

constexpr i64 kMostElements = 600;
constexpr i64 kCopies = 3;

struct Case {
  TypeSpecRef spec;
  Sizes sizes;
  bool keep_kinds;
  Typemap map;
  std::vector<i64> offsets;  // of kCopies copies
  FlatTypeRef flat;
};

template <class Check>
void for_random_types(unsigned seed, int cases, bool legal, Check check) {
  std::mt19937 rng(seed);
  for (int i = 0; i < cases; ++i) {
    Case c{oracle::random_type(rng, 1 + i % 4, legal),
           i % 5 == 0 ? Sizes::kExternal32 : Sizes::kNative,
           i % 3 == 0,
           {},
           {},
           {}};
    c.map = oracle::expand(*c.spec, c.sizes);
    if (static_cast<i64>(c.map.elements.size()) > kMostElements) continue;
    c.offsets = byte_offsets(c.map, c.sizes, kCopies);
    auto flat = FlatType::lower(*c.spec, c.sizes, c.keep_kinds);
    ASSERT_TRUE(flat.ok()) << flat.error().what;
    c.flat = *flat;
    SCOPED_TRACE("seed " + std::to_string(seed) + " case " + std::to_string(i) + ": " + to_string(*c.spec));
    check(c, rng);
    if (testing::Test::HasFailure()) return;
  }
}

struct Facts {
  bool monotone = true, overlapping = false;
};

Facts facts_of(const std::vector<i64>& offsets) {
  Facts facts;
  const std::set<i64> distinct(offsets.begin(), offsets.end());
  facts.overlapping = distinct.size() != offsets.size();
  i64 start = INT64_MIN, previous = INT64_MIN;
  for (i64 offset : offsets) {
    if (offset != previous + 1 || previous == INT64_MIN) {
      facts.monotone = facts.monotone && offset >= start;
      start = offset;
    }
    previous = offset;
  }
  return facts;
}

// Copies enough that any overlap between copies shows.
i64 copies_that_show(const Case& c) {
  const i64 extent = c.map.ub - c.map.lb;
  if (c.offsets.empty() || extent == 0) return 2;
  const auto [low, high] = std::minmax_element(c.offsets.begin(), c.offsets.begin() + c.flat->size());
  return (*high - *low + 1) / std::abs(extent) + 2;
}

void check_facts(const Case& c, std::mt19937&) {
  const FlatType& f = *c.flat;
  const i64 size = static_cast<i64>(c.offsets.size()) / kCopies;
  ASSERT_EQ(f.size(), size);
  EXPECT_EQ(f.lb(), c.map.lb);
  EXPECT_EQ(f.extent(), c.map.ub - c.map.lb);
  if (size == 0) return;
  const std::vector<i64> once(c.offsets.begin(), c.offsets.begin() + size);
  EXPECT_EQ(f.true_lb(), *std::min_element(once.begin(), once.end()));
  EXPECT_EQ(f.true_lb() + f.true_extent(), *std::max_element(once.begin(), once.end()) + 1);
  const Facts one = facts_of(once), tiled = facts_of(byte_offsets(c.map, c.sizes, copies_that_show(c)));
  EXPECT_EQ(f.overlapping_once(), one.overlapping);
  EXPECT_EQ(f.overlapping(), tiled.overlapping);
  if (!one.overlapping) {
    EXPECT_EQ(f.monotone_once(), one.monotone);
  }
  if (!tiled.overlapping) {
    EXPECT_EQ(f.monotone(), tiled.monotone);
  }
  bool dense = size == f.extent();
  for (i64 i = 0; i < size && dense; ++i) dense = once[static_cast<std::size_t>(i)] == i;
  if (!c.keep_kinds) {
    EXPECT_EQ(f.contiguous(), dense && f.lb() == 0);
  }
  if (f.contiguous()) {
    EXPECT_TRUE(dense);
  }
}

TEST(FlatType, BoundsOrderAndOverlap) {
  for_random_types(11, 4000, false, check_facts);
}
TEST(FlatType, BoundsOrderAndOverlapOfLegalFiletypes) {
  for_random_types(12, 4000, true, check_facts);
}

void check_positions(const Case& c, std::mt19937& rng) {
  for (std::size_t i = 0; i < c.offsets.size(); ++i)
    ASSERT_EQ(c.flat->offset_of(static_cast<i64>(i)), c.offsets[i]) << "position " << i;
  const i64 extent = c.flat->extent(), size = c.flat->size();
  if (size == 0 || extent <= 0) return;
  const i64 copies = copies_that_show(c) + 2;
  const std::vector<i64> all = byte_offsets(c.map, c.sizes, copies);
  // Copies from `copies` on lie wholly above this:
  const i64 safe = c.flat->true_lb() + copies * extent;
  for (int k = 0; k < 20; ++k) {
    const i64 offset = std::uniform_int_distribution<i64>(c.flat->true_lb() - 3, safe)(rng);
    const i64 below = std::count_if(all.begin(), all.end(), [offset](i64 at) { return at < offset; });
    ASSERT_EQ(c.flat->bytes_below(offset), below) << "offset " << offset;
  }
}

TEST(FlatType, OffsetsAndBytesBelow) {
  for_random_types(21, 3000, false, check_positions);
}
TEST(FlatType, OffsetsAndBytesBelowOfLegalFiletypes) {
  for_random_types(22, 3000, true, check_positions);
}

// Any range, cut anyhow: the bytes in order; whole pieces; coalesced.
void check_cursor(const Case& c, std::mt19937& rng) {
  const auto total = static_cast<i64>(c.offsets.size());
  const auto pick = [&rng](i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(rng); };
  for (int k = 0; k < 4; ++k) {
    const i64 begin = pick(0, total), end = pick(begin, total);
    Cursor cursor(c.flat, 1000, begin, end);
    if (c.flat->size() > 0) cursor.seek(pick(begin, end));
    if (c.flat->size() > 0) cursor.seek(begin);
    const bool whole = k % 2 == 0;
    i64 position = begin, previous_end = INT64_MIN;
    while (!cursor.done()) {
      ASSERT_EQ(cursor.position(), position);
      const i64 max_bytes = whole ? INT64_MAX : pick(1, 40), max_count = whole ? INT64_MAX : pick(1, 5);
      const StridedRun run = cursor.next(max_bytes, max_count);
      ASSERT_TRUE(run.count >= 1 && run.bytes >= 1 && run.count <= max_count && run.count * run.bytes <= max_bytes);
      for (i64 p = 0; p < run.count; ++p) {
        const i64 at = run.offset + p * run.stride;
        if (whole && !c.keep_kinds) {
          ASSERT_NE(at, previous_end) << "touching pieces at " << position;
        }
        previous_end = at + run.bytes;
        for (i64 b = 0; b < run.bytes; ++b, ++position)
          ASSERT_EQ(at + b, 1000 + c.offsets[static_cast<std::size_t>(position)]) << "position " << position;
      }
    }
    ASSERT_EQ(position, c.flat->size() > 0 ? end : begin);
  }
}

TEST(Cursor, WalksAnyRange) {
  for_random_types(31, 3000, false, check_cursor);
}
TEST(Cursor, WalksAnyRangeOfLegalFiletypes) {
  for_random_types(32, 3000, true, check_cursor);
}

void check_kinds(const Case& c, std::mt19937&) {
  if (!c.keep_kinds) return;
  Cursor cursor(c.flat, 0, 0, c.flat->size());
  std::size_t element = 0;
  while (!cursor.done()) {
    const StridedRun run = cursor.next();
    const i64 width = oracle::bytes_of(run.basic, c.sizes);
    ASSERT_EQ(run.bytes % width, 0);
    for (i64 i = 0; i < run.count * run.bytes / width; ++i) ASSERT_EQ(c.map.elements.at(element++).basic, run.basic);
  }
  EXPECT_EQ(element, c.map.elements.size());
}

TEST(Cursor, TellsKinds) {
  for_random_types(33, 2000, false, check_kinds);
}

std::byte* start_of(std::vector<std::byte>& memory) {
  return memory.data() + memory.size() / 2;
}
constexpr std::size_t kArena = 1 << 17;

bool fits(const Case& c) {
  return std::all_of(c.offsets.begin(), c.offsets.end(),
                     [](i64 at) { return std::abs(at) < static_cast<i64>(kArena / 2); });
}

void check_packing(const Case& c, std::mt19937& rng) {
  if (c.flat->size() == 0 || !fits(c)) return;
  std::vector<std::byte> memory(kArena), packed, back(kArena);
  std::byte* base = start_of(memory);
  for (i64 at : c.offsets) base[at] = static_cast<std::byte>(rng());
  const auto total = static_cast<i64>(c.offsets.size());
  packed.resize(c.offsets.size());
  Cursor from(c.flat, reinterpret_cast<i64>(base), 0, total);
  const auto cut = static_cast<std::size_t>(std::uniform_int_distribution<i64>(0, total)(rng));
  pack(from, Bytes(packed).first(cut));
  pack(from, Bytes(packed).subspan(cut));
  EXPECT_TRUE(from.done());
  for (std::size_t i = 0; i < packed.size(); ++i) ASSERT_EQ(packed[i], base[c.offsets[i]]);
  Cursor to(c.flat, reinterpret_cast<i64>(start_of(back)), 0, total);
  unpack(to, ConstBytes(packed).first(cut));
  unpack(to, ConstBytes(packed).subspan(cut));
  for (i64 at : c.offsets) ASSERT_EQ(base[at], start_of(back)[at]);
}

TEST(Pack, GathersAndScatters) {
  for_random_types(41, 1200, false, check_packing);
}

TEST(Pack, CopiesBetweenLayouts) {
  std::vector<Case> cases;
  for_random_types(42, 600, false, [&cases](const Case& c, std::mt19937&) {
    if (c.flat->size() > 0 && fits(c)) cases.push_back(c);
  });
  std::mt19937 rng(43);
  std::vector<std::byte> source(kArena), target(kArena), expected(kArena);
  for (std::size_t i = 0; i + 1 < cases.size(); ++i) {
    const Case &a = cases[i], &b = cases[i + 1];
    for (i64 at : a.offsets) start_of(source)[at] = static_cast<std::byte>(rng());
    const auto bytes = static_cast<i64>(std::min(a.offsets.size(), b.offsets.size()));
    std::fill(target.begin(), target.end(), std::byte{0});
    std::fill(expected.begin(), expected.end(), std::byte{0});
    for (std::size_t k = 0; k < static_cast<std::size_t>(bytes); ++k)
      start_of(expected)[b.offsets[k]] = start_of(source)[a.offsets[k]];
    Cursor from(a.flat, reinterpret_cast<i64>(start_of(source)), 0, static_cast<i64>(a.offsets.size()));
    Cursor to(b.flat, reinterpret_cast<i64>(start_of(target)), 0, static_cast<i64>(b.offsets.size()));
    copy(from, to, bytes / 2);
    EXPECT_EQ(to.position(), bytes / 2);
    copy(from, to, bytes - bytes / 2);
    ASSERT_EQ(from.position(), bytes);
    if (!b.flat->overlapping()) {
      ASSERT_EQ(target, expected) << to_string(*a.spec) << " -> " << to_string(*b.spec);
    }
  }
}

TEST(Serialize, RoundTripKeepsEverything) {
  for_random_types(51, 3000, false, [](const Case& c, std::mt19937& rng) {
    std::vector<std::byte> bytes;
    c.flat->serialize(bytes);
    auto back = FlatType::deserialize(bytes);
    ASSERT_TRUE(back.ok()) << back.error().what;
    const FlatType& f = **back;
    EXPECT_EQ(f.hash(), c.flat->hash());
    EXPECT_EQ(f.keeps_kinds(), c.keep_kinds);
    EXPECT_EQ(f.lb(), c.flat->lb());
    EXPECT_EQ(f.extent(), c.flat->extent());
    EXPECT_EQ(f.monotone(), c.flat->monotone());
    EXPECT_EQ(f.overlapping(), c.flat->overlapping());
    Case again = c;
    again.flat = *back;
    check_positions(again, rng);
  });
}

std::vector<std::byte> bytes_from(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(Serialize, OnlyCanonicalBytesAreAccepted) {
  // format 1 with data, lb 0, extent 8, first 0, a run of 8 bytes
  EXPECT_TRUE(FlatType::deserialize(bytes_from({5, 0, 16, 0, 0, 8, 0, 1, 1})).ok());
  EXPECT_FALSE(FlatType::deserialize(bytes_from({5, 0, 16, 0, 0, 0x88, 0, 0, 1, 1})).ok()) << "8 in two bytes";
  // two runs of 4 bytes, 8 apart; 4 apart they are one run
  EXPECT_TRUE(FlatType::deserialize(bytes_from({5, 0, 32, 0, 1, 2, 16, 0, 4, 0, 1, 1})).ok());
  EXPECT_FALSE(FlatType::deserialize(bytes_from({5, 0, 32, 0, 1, 2, 8, 0, 4, 0, 1, 1})).ok());
}

TEST(Serialize, AnExtentBeyond62BitsIsRefused) {
  auto bytes = bytes_from({5, 0});
  for (int i = 0; i < 9; ++i) bytes.push_back(std::byte{0xff});
  for (std::byte b : bytes_from({1, 0, 0, 8, 0, 1, 1})) bytes.push_back(b);
  EXPECT_FALSE(FlatType::deserialize(bytes).ok());
}

TEST(Serialize, DamagedInputIsRefusedOrHarmless) {
  for_random_types(52, 1500, false, [](const Case& c, std::mt19937& rng) {
    std::vector<std::byte> bytes;
    c.flat->serialize(bytes);
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      EXPECT_FALSE(FlatType::deserialize(ConstBytes(bytes).first(cut)).ok());
    }
    for (int k = 0; k < 10; ++k) {
      auto damaged = bytes;
      damaged[rng() % damaged.size()] = static_cast<std::byte>(rng());
      auto result = FlatType::deserialize(damaged);
      if (!result.ok() || (*result)->size() == 0) continue;
      Cursor cursor(*result, 0, 0, std::min<i64>((*result)->size(), 1000));
      while (!cursor.done()) cursor.next();
    }
  });
}

TypeSpecRef int32() {
  return make_named({Basic::kSigned, 4, 4});
}

FlatTypeRef lowered(const TypeSpecRef& spec) {
  return FlatType::lower(*spec).value();
}

TEST(FlatType, HugeVectorIsOneNode) {
  const auto f = lowered(make_vector(10'000'000, 1, 1000, int32()));
  EXPECT_LT(f->memory_bytes(), 2000);
  EXPECT_EQ(f->size(), 40'000'000);
  EXPECT_EQ(f->offset_of(4 * 9'999'999), 9'999'999LL * 4000);
  EXPECT_TRUE(f->monotone());
  EXPECT_FALSE(f->overlapping());
  EXPECT_EQ(f->bytes_below(4000LL * 1'000'000 + 2), 4'000'002);
}

// Copies that interleave: a look at each copy below the limit, of which there are 2^28, would take minutes for all limits.
TEST(FlatType, ColumnsBelowALimitAreCountedByTheirPieces) {
  constexpr i64 kN = i64{1} << 14;
  const auto column = lowered(make_resized(0, 4, make_vector(kN, 1, kN, int32())));
  for (i64 k = 0; k < 50; ++k) EXPECT_EQ(column->bytes_below(4 * (kN * kN - k)), 2 * kN * (kN * kN + kN - 2 * k));
  const auto runs = lowered(make_resized(0, 1, make_contiguous(5, byte_type())));
  EXPECT_EQ(runs->bytes_below(7), 5 + 5 + 5 + 4 + 3 + 2 + 1);
  EXPECT_EQ(lowered(make_resized(0, 2, make_contiguous(9, byte_type())))->bytes_below(10), 9 + 8 + 6 + 4 + 2);
}

TEST(FlatType, TheStreamEndsBefore62Bits) {
  constexpr i64 kFar = i64{1} << 62;
  EXPECT_EQ(lowered(make_contiguous(0, int32()))->stream_bytes(), 0);
  EXPECT_EQ(lowered(make_resized(0, kFar - 1, int32()))->stream_bytes(), 4) << "one copy there is";
  const auto tiled = lowered(make_resized(0, 1000, int32()));
  EXPECT_GT(tiled->stream_bytes(), kFar / 1000);
  EXPECT_LT(tiled->offset_of(tiled->stream_bytes() - 1), kFar);
  EXPECT_GE(lowered(byte_type())->stream_bytes(), kFar / 2);
}

TEST(FlatType, ExtentsBeyond62BitsAreRefused) {
  for (const i64 extent : {INT64_MIN, INT64_MAX, i64{1} << 62})
    EXPECT_FALSE(FlatType::lower(*make_resized(0, extent, int32())).ok()) << extent;
  const auto nothing = make_contiguous(0, int32());
  EXPECT_FALSE(FlatType::lower(*make_hindexed_block(1, {-2, INT64_MAX}, nothing)).ok()) << "bounds without data";
}

TEST(FlatType, NestingHasALimit) {
  TypeSpecRef spec = int32();
  for (i64 storey = 0; storey < kMaxTypeDepth; ++storey) spec = make_struct({1}, {0}, {spec});
  EXPECT_TRUE(FlatType::lower(*spec).ok());
  EXPECT_FALSE(FlatType::lower(*make_dup(spec)).ok());
}

TEST(FlatType, NestingOfIrregularConstructorsHasALimitOfItsOwn) {
  TypeSpecRef spec = int32();
  for (i64 storey = 1; storey <= 300; ++storey) {
    spec = make_struct({1, 1}, {0, storey * (storey + 9)}, {spec, byte_type()});
    const auto flat = FlatType::lower(*spec);
    ASSERT_TRUE(flat.ok() || storey > 250) << storey;
    if (flat.ok()) continue;
    EXPECT_EQ(flat.error().cls, ErrorClass::kType) << storey;
    EXPECT_NE(flat.error().what.find("nested too deep: more than 256"), std::string::npos) << flat.error().what;
  }
  EXPECT_FALSE(FlatType::lower(*spec).ok());
}

TEST(FlatType, TheStrideOfNoBlocksMayBeAnything) {
  EXPECT_TRUE(FlatType::lower(*make_vector(0, 8, INT64_MIN / 2, int32())).ok());
}

TEST(FlatType, ABasicTypeOfNegativeSizeIsRefused) {
  for (const BasicType& basic : {BasicType{Basic::kByte, -1, 1}, BasicType{Basic::kByte, 1, -1}})
    EXPECT_FALSE(FlatType::lower(*make_named(basic)).ok());
}

TEST(TypeSpec, TheTextOfATreeWithSharedChildrenIsShort) {
  TypeSpecRef spec = int32();
  for (int storey = 0; storey < 30; ++storey) spec = make_struct({1, 1}, {0, 4}, {spec, spec});
  EXPECT_LT(to_string(*spec).size(), 3000u);
}

TEST(FlatType, EqualLayoutsBecomeEqual) {
  const auto hash = [](const TypeSpecRef& spec) { return lowered(spec)->hash(); };
  EXPECT_EQ(hash(make_contiguous(6, int32())), hash(make_vector(3, 2, 2, int32())));
  EXPECT_EQ(hash(make_contiguous(6, int32())), hash(make_indexed({2, 0, 4}, {0, 77, 2}, int32())));
  EXPECT_EQ(hash(make_vector(3, 1, 2, int32())), hash(make_indexed_block(1, {0, 2, 4}, int32())));
  EXPECT_EQ(hash(make_vector(4, 1, 2, int32())),
            hash(make_resized(
                0, 28, make_struct({1, 1}, {0, 16}, {make_vector(2, 1, 2, int32()), make_vector(2, 1, 2, int32())}))));
  EXPECT_NE(hash(make_vector(3, 1, 2, int32())), hash(make_vector(3, 1, 3, int32())));
}

TEST(FlatType, InterleavedFieldsDoNotOverlap) {
  // Two fields of a record, field by field, a million records: too many to enumerate.
  const auto field = make_hvector(1'000'000, 1, 24, make_named({Basic::kFloat, 8, 8}));
  const auto f = lowered(make_struct({1, 1}, {0, 8}, {field, field}));
  EXPECT_FALSE(f->overlapping_once());
  EXPECT_FALSE(f->monotone_once());
  const auto g = lowered(make_struct({1, 1}, {0, 4}, {field, field}));
  EXPECT_TRUE(g->overlapping_once());
}

TEST(FlatType, IsNotWrittenOutWhereThereIsNoRoom) {
  Numbers places;
  for (i64 i = 0; i < 1000; ++i) places.push_back(i * i);
  const FlatTypeRef map = FlatType::lower(*make_hindexed_block(1, places, byte_type())).value();
  std::vector<std::byte> whole, little;
  EXPECT_TRUE(map->serialize(whole));
  EXPECT_TRUE(map->serialize(little, static_cast<i64>(whole.size())));
  EXPECT_EQ(little, whole);
  little.clear();
  EXPECT_FALSE(map->serialize(little, static_cast<i64>(whole.size()) - 1));
  little.clear();
  EXPECT_FALSE(map->serialize(little, 500));
  EXPECT_LT(little.size(), 100u);   // not begun
}

TEST(FlatType, TransposeTilesWithoutOverlap) {
  const auto column = make_resized(0, 8, make_vector(1000, 1, 5000, make_named({Basic::kFloat, 8, 8})));
  const auto f = lowered(make_contiguous(5000, column));
  EXPECT_FALSE(f->overlapping_once());
  EXPECT_EQ(f->size(), 8LL * 5000 * 1000);
}

TEST(FlatType, OverflowIsAnError) {
  const auto big = make_contiguous(INT64_MAX / 2, make_named({Basic::kFloat, 8, 8}));
  EXPECT_EQ(FlatType::lower(*big).error().cls, ErrorClass::kCount);
  EXPECT_FALSE(FlatType::lower(*make_hvector(3, 1, INT64_MAX / 2, int32())).ok());
  EXPECT_FALSE(FlatType::lower(*make_hvector(2, 1, INT64_MIN, int32())).ok());
  EXPECT_FALSE(FlatType::lower(*make_resized(INT64_MAX, INT64_MAX, int32())).ok());
  EXPECT_EQ(FlatType::lower(*make_contiguous(-1, int32())).error().cls, ErrorClass::kCount);
  EXPECT_EQ(FlatType::lower(*make_subarray({4}, {3}, {2}, true, int32())).error().cls, ErrorClass::kArg);
}

TEST(FlatType, SharedChildrenStayCheap) {
  TypeSpecRef type = int32();
  for (int i = 0; i < 40; ++i) type = make_struct({1, 1, 1}, {0, 5, 11}, {type, type, i % 2 ? type : int32()});
  const auto f = FlatType::lower(*type);
  ASSERT_TRUE(f.ok());
  std::vector<std::byte> bytes;
  (*f)->serialize(bytes);
  EXPECT_LT(bytes.size(), 4000U);
  EXPECT_EQ(FlatType::deserialize(bytes).value()->hash(), (*f)->hash());
}

}  // namespace
}  // namespace mercutio
