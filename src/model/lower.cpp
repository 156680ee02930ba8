// TypeSpec -> FlatType: bounds by the rules of the MPI standard (5.1), data by the normalising constructors.
// O(1) for each constructor without arrays, O(entries) for those with; a child used many times is lowered once.
#include <unordered_map>

#include "model/flat_builder.h"

namespace mercutio {
namespace {

struct Lowered {
  Placed data;
  i64 lb = 0, ub = 0;
};

struct Bounds {
  bool any = false;
  i64 lb = 0, ub = 0;
  void take(i64 low, i64 high) {
    lb = any ? std::min(lb, low) : low;
    ub = any ? std::max(ub, high) : high;
    any = true;
  }
};

class Lowering {
 public:
  Lowering(Sizes sizes, bool keep_kinds) : sizes_(sizes), build_(keep_kinds), math_(build_.math()) {}

  Result<Lowered> lower(const TypeSpec& spec, i64 depth);
  bool overflow() const { return build_.overflow(); }
  Error error(const TypeSpec& spec) const;

 private:
  Result<Lowered> lower_child(const TypeSpec& spec, i64 depth);
  Result<Lowered> construct(const TypeSpec& spec, const Lowered& child);
  Lowered repeat(const Lowered& child, i64 count, i64 stride);
  Result<Lowered> named(const BasicType& basic);
  Result<Lowered> vector(const TypeSpec& spec, const Lowered& child);
  Result<Lowered> indexed(const TypeSpec& spec, const Lowered& child);
  Result<Lowered> structure(const TypeSpec& spec, i64 depth);
  Result<Lowered> pair(const TypeSpec& spec, i64 depth);
  Result<Lowered> subarray(const TypeSpec& spec, const Lowered& child);
  Result<Lowered> darray(const TypeSpec& spec, const Lowered& child);
  Result<Placed> darray_dimension(const TypeSpec& spec, i64 dim, i64 coordinate, i64 step, const Placed& inner);
  i64 extent(const Lowered& type) { return math_.sub(type.ub, type.lb); }

  Sizes sizes_;
  NodeBuilder build_;
  SafeMath& math_;
  std::unordered_map<const TypeSpec*, Lowered> known_;
};

Error bad(ErrorClass cls, const TypeSpec& spec, const std::string& why) {
  std::string text = to_string(spec);
  if (text.size() > 120) text = text.substr(0, 117) + "...";
  return Error{cls, text + ": " + why};
}

Error Lowering::error(const TypeSpec& spec) const {
  const Error why = build_.error();
  return bad(why.cls, spec, why.what);
}

Result<Lowered> Lowering::named(const BasicType& basic) {
  const i64 bytes = sizes_ == Sizes::kNative ? basic.native_bytes : basic.external_bytes;
  if (basic.native_bytes < 0 || basic.external_bytes < 0) return Error{ErrorClass::kType, "a basic datatype of negative size"};
  return Lowered{build_.run(bytes, basic), 0, bytes};
}

Lowered Lowering::repeat(const Lowered& child, i64 count, i64 stride) {
  if (count <= 0) return {};
  const i64 reach = math_.mul(count - 1, stride);
  return Lowered{build_.strided(count, stride, child.data), math_.add(child.lb, std::min<i64>(0, reach)),
                 math_.add(child.ub, std::max<i64>(0, reach))};
}

Result<Lowered> Lowering::vector(const TypeSpec& spec, const Lowered& child) {
  if (spec.count < 0 || spec.block_length < 0) return bad(ErrorClass::kCount, spec, "a negative count");
  if (spec.count == 0 || spec.block_length == 0) return Lowered{};  // whatever the stride
  const i64 step = extent(child);
  const i64 stride = spec.combiner == Combiner::kVector ? math_.mul(spec.stride, step) : spec.stride;
  return repeat(repeat(child, spec.block_length, step), spec.count, stride);
}

Result<Lowered> Lowering::indexed(const TypeSpec& spec, const Lowered& child) {
  const bool block = spec.combiner == Combiner::kIndexedBlock || spec.combiner == Combiner::kHindexedBlock;
  const bool elements = spec.combiner == Combiner::kIndexed || spec.combiner == Combiner::kIndexedBlock;
  if (!block && spec.lengths.size() != spec.displacements.size())
    return bad(ErrorClass::kArg, spec, "as many lengths as displacements are needed");
  const i64 step = extent(child);
  const BlockList list{spec.displacements, elements ? step : 1, spec.lengths, block ? spec.block_length : 0, step};
  const BlockList::Outline outline = list.outline(math_);
  if (outline.negative) return bad(ErrorClass::kCount, spec, "a negative block length");
  if (outline.entries == 0) return Lowered{};   // empty blocks have no bounds
  return Lowered{build_.blocks(child.data, list, outline), math_.add(outline.low, child.lb), math_.add(outline.high, child.ub)};
}

Result<Lowered> Lowering::structure(const TypeSpec& spec, i64 depth) {
  if (spec.lengths.size() != spec.displacements.size() || spec.lengths.size() != std::ssize(spec.children))
    return bad(ErrorClass::kArg, spec, "as many lengths and displacements as types are needed");
  std::vector<Placed> parts;
  Bounds bounds;
  for (i64 i = 0; i < spec.lengths.size(); ++i) {
    const TypeSpecRef& part = spec.children[static_cast<std::size_t>(i)];
    if (spec.lengths[i] < 0) return bad(ErrorClass::kCount, spec, "a negative block length");
    if (!part) return bad(ErrorClass::kType, spec, "a null datatype");
    if (spec.lengths[i] == 0) continue;
    MERCUTIO_LET(const Lowered child, lower_child(*part, depth));
    Lowered block = repeat(child, spec.lengths[i], extent(child));
    bounds.take(math_.add(spec.displacements[i], block.lb), math_.add(spec.displacements[i], block.ub));
    block.data.first = math_.add(block.data.first, spec.displacements[i]);
    parts.push_back(std::move(block.data));
  }
  return Lowered{build_.sequence(std::move(parts)), bounds.lb, bounds.ub};
}

// In memory as the compiler lays it out. Other representations align nothing (MPI 14.5.2, 14.5.3).
Result<Lowered> Lowering::pair(const TypeSpec& spec, i64 depth) {
  MERCUTIO_LET(Lowered first, lower_child(*spec.children[0], depth));
  MERCUTIO_LET(Lowered second, lower_child(*spec.children[1], depth));
  const bool native = sizes_ == Sizes::kNative;
  second.data.first = math_.add(second.data.first, native ? spec.stride : first.ub);
  const i64 end = native ? spec.extent : math_.add(first.ub, second.ub);
  return Lowered{build_.sequence({std::move(first.data), std::move(second.data)}), 0, end};
}

Result<Lowered> Lowering::subarray(const TypeSpec& spec, const Lowered& child) {
  const i64 dims = spec.sizes.size();
  if (dims == 0 || spec.lengths.size() != dims || spec.displacements.size() != dims)
    return bad(ErrorClass::kArg, spec, "sizes, subsizes and starts must have one entry a dimension");
  Placed data = child.data;
  i64 step = extent(child);
  for (i64 i = 0; i < dims; ++i) {
    const i64 dim = spec.c_order ? dims - 1 - i : i;  // the fastest first
    const i64 size = spec.sizes[dim], subsize = spec.lengths[dim], start = spec.displacements[dim];
    if (size < 1 || subsize < 0 || start < 0 || subsize > size || start > size - subsize)
      return bad(ErrorClass::kArg, spec, "a subarray that does not lie in its array");
    data = build_.strided(subsize, step, data);
    data.first = math_.add(data.first, math_.mul(start, step));
    step = math_.mul(step, size);
  }
  return Lowered{std::move(data), 0, step};
}

Result<Placed> Lowering::darray_dimension(const TypeSpec& spec, i64 dim, i64 coordinate, i64 step,
                                          const Placed& inner) {
  const i64 size = spec.sizes[dim], procs = spec.displacements[dim];
  i64 block = spec.lengths[dim];
  const Distribution distribution = spec.distributions[dim];
  if (distribution == Distribution::kNone) {
    if (procs != 1)
      return bad(ErrorClass::kArg, spec, "a dimension that is not distributed needs a process grid of 1 there");
    return build_.strided(size, step, inner);
  }
  if (distribution == Distribution::kBlock) {
    if (block == kDefaultDistributionArg) block = (size - 1) / procs + 1;
    if (block < 1 || block < (size - 1) / procs + 1)
      return bad(ErrorClass::kArg, spec, "blocks that do not cover the array");
  } else if (block == kDefaultDistributionArg) {
    block = 1;
  }
  if (block < 1) return bad(ErrorClass::kArg, spec, "a distribution argument below 1");
  block = std::min(block, size);   // the first process has it all
  if (coordinate > (size - 1) / block) return Placed{};  // the blocks end before this process
  const i64 start = coordinate * block, left = size - start;
  const i64 cycle = block > INT64_MAX / procs ? INT64_MAX : block * procs;   // what is beyond the end is far enough
  const i64 whole = left < block ? 0 : (left - block) / cycle + 1;
  const i64 behind = whole == 0 ? left : left - (whole - 1) * cycle - cycle, rest = std::clamp<i64>(behind, 0, block);
  Placed full = build_.strided(whole, whole > 1 ? math_.mul(cycle, step) : 0, build_.strided(block, step, inner));
  Placed tail = build_.strided(rest, step, inner);
  full.first = math_.add(full.first, math_.mul(start, step));
  if (rest > 0) tail.first = math_.add(tail.first, math_.mul(size - behind, step));
  return build_.sequence({std::move(full), std::move(tail)});
}

Result<Lowered> Lowering::darray(const TypeSpec& spec, const Lowered& child) {
  const i64 dims = spec.sizes.size();
  if (dims == 0 || spec.lengths.size() != dims || spec.displacements.size() != dims ||
      std::ssize(spec.distributions) != dims)
    return bad(ErrorClass::kArg, spec,
               "sizes, distributions, arguments and process grid must have one entry a dimension");
  const i64 rank = spec.block_length;
  i64 grid = 1;
  for (i64 i = 0; i < dims; ++i) {
    if (spec.sizes[i] < 1 || spec.displacements[i] < 1) return bad(ErrorClass::kArg, spec, "a size below 1");
    grid = math_.mul(grid, spec.displacements[i]);
  }
  if (grid != spec.count || rank < 0 || rank >= grid)
    return bad(ErrorClass::kArg, spec, "the process grid does not have as many places as there are processes");
  std::vector<i64> coordinates(static_cast<std::size_t>(dims));  // the grid is row-major whatever the order of the array
  i64 rest = rank;
  for (std::size_t i = dims; i-- > 0; rest /= spec.displacements[i]) coordinates[i] = rest % spec.displacements[i];
  Placed data = child.data;
  i64 step = extent(child);
  for (i64 i = 0; i < dims; ++i) {
    const i64 dim = spec.c_order ? dims - 1 - i : i;
    MERCUTIO_LET(data, darray_dimension(spec, dim, coordinates[dim], step, data));
    step = math_.mul(step, spec.sizes[dim]);
  }
  return Lowered{std::move(data), 0, step};
}

Result<Lowered> Lowering::construct(const TypeSpec& spec, const Lowered& child) {
  switch (spec.combiner) {
    case Combiner::kContiguous:
      if (spec.count < 0) return bad(ErrorClass::kCount, spec, "a negative count");
      return repeat(child, spec.count, extent(child));
    case Combiner::kVector:
    case Combiner::kHvector:
      return vector(spec, child);
    case Combiner::kSubarray:
      return subarray(spec, child);
    case Combiner::kDarray:
      return darray(spec, child);
    case Combiner::kResized:
      return Lowered{child.data, spec.stride, math_.add(spec.stride, spec.extent)};
    case Combiner::kDup:
      return child;
    default:
      return indexed(spec, child);
  }
}

Result<Lowered> Lowering::lower_child(const TypeSpec& spec, i64 depth) {
  if (spec.combiner == Combiner::kNamed) return named(spec.basic);
  const auto found = known_.find(&spec);
  if (found != known_.end()) return found->second;
  MERCUTIO_LET(Lowered lowered, lower(spec, depth + 1));
  known_.emplace(&spec, lowered);
  return lowered;
}

Result<Lowered> Lowering::lower(const TypeSpec& spec, i64 depth) {
  if (depth >= kMaxTypeDepth) return Error{ErrorClass::kType, "the datatype is nested more than " + std::to_string(kMaxTypeDepth) + " deep"};
  if (spec.combiner == Combiner::kNamed) return named(spec.basic);
  if (spec.combiner == Combiner::kStruct) return structure(spec, depth);
  if (spec.combiner == Combiner::kPair) return pair(spec, depth);
  if (spec.children.size() != 1 || !spec.children[0]) return bad(ErrorClass::kType, spec, "a null datatype");
  MERCUTIO_LET(const Lowered child, lower_child(*spec.children[0], depth));
  MERCUTIO_LET(Lowered lowered, construct(spec, child));
  if (overflow()) return error(spec);
  return lowered;
}

}  // namespace

Result<FlatTypeRef> FlatType::lower(const TypeSpec& spec, Sizes sizes, bool keep_kinds) {
  Lowering lowering(sizes, keep_kinds);
  MERCUTIO_LET(Lowered lowered, lowering.lower(spec, 0));
  if (lowering.overflow()) return lowering.error(spec);
  return FlatBuilder::make({std::move(lowered.data), lowered.lb, lowered.ub, keep_kinds});
}

Result<FlatTypeRef> FlatType::of(const TypeSpec& spec) {
  if (FlatTypeRef known = spec.lowered.get()) return known;
  MERCUTIO_LET(FlatTypeRef flat, lower(spec));
  spec.lowered.set(flat);
  return flat;
}

}  // namespace mercutio
