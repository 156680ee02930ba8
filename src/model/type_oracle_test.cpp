// The oracle's own code; deliberately without anything from flat_*.cpp.
#include "model/type_oracle.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mercutio::oracle {
namespace {

struct Collector {
  Typemap map;
  bool any = false;
  void place(const Typemap& child, i64 at) {
    for (const Element& e : child.elements) map.elements.push_back({at + e.offset, e.basic});
    map.lb = any ? std::min(map.lb, at + child.lb) : at + child.lb;
    map.ub = any ? std::max(map.ub, at + child.ub) : at + child.ub;
    any = true;
  }
  void place_block(const Typemap& child, i64 at, i64 length) {
    for (i64 j = 0; j < length; ++j) place(child, at + j * (child.ub - child.lb));
  }
};

// Which process of a dimension owns global index `index`.
i64 owner(const TypeSpec& s, std::size_t dim, i64 index) {
  const i64 procs = s.displacements[dim];
  i64 arg = s.lengths[dim];
  switch (s.distributions[dim]) {
    case Distribution::kNone:
      return 0;
    case Distribution::kBlock:
      if (arg == kDefaultDistributionArg) arg = (s.sizes[dim] + procs - 1) / procs;
      return index / arg;
    default:
      if (arg == kDefaultDistributionArg) arg = 1;
      return (index / arg) % procs;
  }
}

// Walks a global array in storage order; mine(index vector) says which elements belong.
template <class Mine>
Typemap walk_array(const TypeSpec& s, const Typemap& child, Mine mine) {
  const auto dims = static_cast<std::size_t>(s.sizes.size());
  Collector out;
  i64 total = 1;
  for (i64 d = 0; d < s.sizes.size(); ++d) total *= s.sizes[d];
  std::vector<i64> index(dims);
  for (i64 linear = 0; linear < total; ++linear) {
    i64 rest = linear;
    for (std::size_t k = 0; k < dims; ++k) {
      const std::size_t dim = s.c_order ? dims - 1 - k : k;
      index[dim] = rest % s.sizes[dim];
      rest /= s.sizes[dim];
    }
    if (mine(index)) out.place(child, linear * (child.ub - child.lb));
  }
  out.map.lb = 0;
  out.map.ub = total * (child.ub - child.lb);
  return out.map;
}

Typemap expand_array(const TypeSpec& s, const Typemap& child) {
  if (s.combiner == Combiner::kSubarray)
    return walk_array(s, child, [&s](const std::vector<i64>& index) {
      for (std::size_t d = 0; d < index.size(); ++d)
        if (index[d] < s.displacements[d] || index[d] >= s.displacements[d] + s.lengths[d]) return false;
      return true;
    });
  std::vector<i64> place(static_cast<std::size_t>(s.sizes.size()));
  i64 rest = s.block_length;
  for (std::size_t d = place.size(); d-- > 0; rest /= s.displacements[d]) place[d] = rest % s.displacements[d];
  return walk_array(s, child, [&](const std::vector<i64>& index) {
    for (std::size_t d = 0; d < index.size(); ++d)
      if (owner(s, d, index[d]) != place[d]) return false;
    return true;
  });
}

}  // namespace

Typemap expand(const TypeSpec& s, Sizes sizes) {
  Collector out;
  if (s.combiner == Combiner::kNamed) return {{{0, s.basic}}, 0, bytes_of(s.basic, sizes)};
  if (s.combiner == Combiner::kStruct) {
    for (std::size_t i = 0; i < s.children.size(); ++i)
      out.place_block(expand(*s.children[i], sizes), s.displacements[i], s.lengths[i]);
    return out.map;
  }
  if (s.combiner == Combiner::kPair) {
    const Typemap first = expand(*s.children[0], sizes), second = expand(*s.children[1], sizes);
    const bool native = sizes == Sizes::kNative;
    out.place(first, 0);
    out.place(second, native ? s.stride : first.ub);
    return {out.map.elements, 0, native ? s.extent : first.ub + second.ub};
  }
  Typemap child = expand(*s.children[0], sizes);
  const i64 extent = child.ub - child.lb;
  const auto count = s.displacements.size();
  switch (s.combiner) {
    case Combiner::kContiguous:
      out.place_block(child, 0, s.count);
      return out.map;
    case Combiner::kVector:
      for (i64 i = 0; i < s.count; ++i) out.place_block(child, i * s.stride * extent, s.block_length);
      return out.map;
    case Combiner::kHvector:
      for (i64 i = 0; i < s.count; ++i) out.place_block(child, i * s.stride, s.block_length);
      return out.map;
    case Combiner::kIndexed:
      for (i64 i = 0; i < count; ++i) out.place_block(child, s.displacements[i] * extent, s.lengths[i]);
      return out.map;
    case Combiner::kHindexed:
      for (i64 i = 0; i < count; ++i) out.place_block(child, s.displacements[i], s.lengths[i]);
      return out.map;
    case Combiner::kIndexedBlock:
      for (i64 i = 0; i < count; ++i) out.place_block(child, s.displacements[i] * extent, s.block_length);
      return out.map;
    case Combiner::kHindexedBlock:
      for (i64 i = 0; i < count; ++i) out.place_block(child, s.displacements[i], s.block_length);
      return out.map;
    case Combiner::kSubarray:
    case Combiner::kDarray:
      return expand_array(s, child);
    case Combiner::kResized:
      child.lb = s.stride;
      child.ub = s.stride + s.extent;
      return child;
    default:
      return child;
  }
}

std::vector<i64> byte_offsets(const Typemap& map, Sizes sizes, i64 copies) {
  std::vector<i64> offsets;
  for (i64 c = 0; c < copies; ++c)
    for (const Element& e : map.elements)
      for (i64 b = 0; b < bytes_of(e.basic, sizes); ++b) offsets.push_back(c * (map.ub - map.lb) + e.offset + b);
  return offsets;
}

namespace {

struct Maker {
  std::mt19937& rng;
  bool legal;
  i64 pick(i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(rng); }
  i64 few(i64 high) { return pick(0, 14) == 0 ? 0 : pick(1, high); }  // a count: zero now and then
  i64 place() { return legal ? pick(0, 12) : pick(-12, 12); }

  TypeSpecRef basic() {
    static const BasicType kinds[] = {{Basic::kByte, 1, 1},     {Basic::kChar, 1, 1},        {Basic::kSigned, 2, 2},
                                      {Basic::kSigned, 4, 4},   {Basic::kFloat, 8, 8},       {Basic::kSigned, 8, 4},
                                      {Basic::kWideChar, 4, 2}, {Basic::kLongDouble, 16, 16}};
    return make_named(kinds[pick(0, 7)]);
  }

  TypeSpecRef pair() {
    const TypeSpecRef first = basic(), second = basic();
    const i64 second_at = first->basic.native_bytes + pick(0, 4);
    return make_pair_type(first, second, second_at, second_at + second->basic.native_bytes + pick(0, 4));
  }

  Numbers places(i64 count, i64 gap) {
    Numbers out;
    i64 at = place();
    const bool regular = pick(0, 3) == 0;
    const i64 step = pick(0, gap);
    for (i64 i = 0; i < count; ++i) {
      out.push_back(legal || pick(0, 1) ? at : place());
      at += regular ? step : pick(0, gap);
    }
    return out;
  }

  Numbers lengths(i64 count) {
    Numbers out;
    for (i64 i = 0; i < count; ++i) out.push_back(few(3));
    return out;
  }

  TypeSpecRef array(const TypeSpecRef& child, bool darray) {
    Numbers sizes, subsizes, starts, args, procs;
    std::vector<Distribution> distributions;
    i64 world = 1;
    for (i64 dims = pick(1, 3), d = 0; d < dims; ++d) {
      sizes.push_back(pick(1, 4));
      subsizes.push_back(pick(pick(0, 3) ? 1 : 0, sizes.back()));
      starts.push_back(pick(0, sizes.back() - subsizes.back()));
      distributions.push_back(static_cast<Distribution>(pick(0, 2)));
      procs.push_back(distributions.back() == Distribution::kNone ? 1 : pick(1, 3));
      const i64 whole = (sizes.back() + procs.back() - 1) / procs.back();
      const i64 low = distributions.back() == Distribution::kBlock ? whole : 1;
      args.push_back(pick(0, 1) ? kDefaultDistributionArg : pick(low, low + 2));
      world *= procs.back();
    }
    const bool c_order = pick(0, 1) == 1;
    if (!darray) return make_subarray(sizes, subsizes, starts, c_order, child);
    return make_darray(world, pick(0, world - 1), sizes, distributions, args, procs, c_order, child);
  }

  TypeSpecRef structure(int depth) {
    const i64 count = few(3);
    std::vector<TypeSpecRef> children;
    for (i64 i = 0; i < count; ++i) children.push_back(i > 0 && pick(0, 2) == 0 ? children[0] : type(depth - 1));
    return make_struct(lengths(count), places(count, 60), children);
  }

  TypeSpecRef type(int depth) {
    if (depth == 0) return basic();
    const auto combiner = static_cast<Combiner>(pick(0, 13));
    if (combiner == Combiner::kNamed) return basic();
    if (combiner == Combiner::kPair) return pair();
    if (combiner == Combiner::kStruct) return structure(depth);
    const TypeSpecRef child = type(depth - 1);
    const i64 count = few(4);
    switch (combiner) {
      case Combiner::kContiguous:
        return make_contiguous(count, child);
      case Combiner::kVector:
        return make_vector(count, few(3), legal ? pick(0, 5) : pick(-5, 5), child);
      case Combiner::kHvector:
        return make_hvector(count, few(3), legal ? pick(0, 60) : pick(-60, 60), child);
      case Combiner::kIndexed:
        return make_indexed(lengths(count), places(count, 5), child);
      case Combiner::kHindexed:
        return make_hindexed(lengths(count), places(count, 60), child);
      case Combiner::kIndexedBlock:
        return make_indexed_block(few(3), places(count, 5), child);
      case Combiner::kHindexedBlock:
        return make_hindexed_block(few(3), places(count, 60), child);
      case Combiner::kSubarray:
        return array(child, false);
      case Combiner::kDarray:
        return array(child, true);
      case Combiner::kResized:
        return make_resized(legal ? 0 : pick(-9, 9), legal ? pick(1, 200) : pick(-20, 200), child);
      default:
        return make_dup(child);
    }
  }
};

TEST(TypeOracle, ExpandsTheStandardsOwnExample) {
  // A vector of 2 blocks of 3 elements, stride 4, of {(double,0),(char,8)} with extent 16 (MPI 5.1.2).
  const auto pair = make_resized(0, 16, make_struct({1, 1}, {0, 8}, {make_named({Basic::kFloat, 8, 8}), byte_type()}));
  const Typemap map = expand(*make_vector(2, 3, 4, pair), Sizes::kNative);
  std::vector<i64> offsets;
  for (const Element& e : map.elements) offsets.push_back(e.offset);
  EXPECT_EQ(offsets, (std::vector<i64>{0, 8, 16, 24, 32, 40, 64, 72, 80, 88, 96, 104}));
}

}  // namespace

TypeSpecRef random_type(std::mt19937& rng, int depth, bool legal) {
  return Maker{rng, legal}.type(depth);
}

}  // namespace mercutio::oracle
