// FlatType: a canonical node with bounds, and the same node tiled by the extent, which answers all questions about
// positions. The tiling is itself a Strided node with a count as large as 62-bit offsets allow: normalisation then
// merges it with what is below, so that tiled copies of a contiguous type are one run.
#include "model/flat_type.h"

#include "model/flat_builder.h"

namespace mercutio {
namespace {

using Kind = FlatNode::Kind;

constexpr i64 kFar = i64{1} << 62;

// As many copies as keep offsets and stream positions below 2^62.
i64 tile_count(const FlatNode& node, i64 extent) {
  const i64 reach = std::max({node.size, extent < 0 ? -extent : extent, node.hi - node.lo});
  return std::max<i64>(1, kFar / reach / 2);
}

FlatNodeRef empty_node() {
  return std::make_shared<const FlatNode>();
}

}  // namespace

Result<FlatTypeRef> FlatBuilder::make(FlatParts parts) {
  auto type = std::make_shared<FlatType>();
  SafeMath math;
  type->lb_ = parts.lb;
  type->extent_ = math.sub(parts.ub, parts.lb);
  const Error too_large{ErrorClass::kCount, "the datatype is too large: its offsets exceed 62 bits"};
  if (math.overflow) return too_large;
  type->keep_kinds_ = parts.keep_kinds;
  type->root_ = parts.data.node ? parts.data.node : empty_node();
  const FlatNode& root = *type->root_;
  type->size_ = root.size;
  if (root.size > 0) {
    type->first_ = parts.data.first;
    type->true_lb_ = math.add(type->first_, root.lo);
    type->true_ub_ = math.add(type->first_, root.hi);
    const bool in_range =
        type->extent_ > -kFar && type->extent_ < kFar && type->true_lb_ > -kFar && type->true_ub_ < kFar;
    if (math.overflow || !in_range) return too_large;
    NodeBuilder build(parts.keep_kinds);
    type->tiled_ = build.strided(tile_count(root, type->extent_), type->extent_, {type->root_, 0}).node;
    if (!type->tiled_) return Error{build.error().cls, "the datatype is " + build.error().what};
    type->monotone_ = type->tiled_->monotone;
    type->overlapping_ = type->tiled_->overlapping;
  }
  type->contiguous_ = type->size_ == type->extent_ &&
                      (type->size_ == 0 || (root.kind == Kind::kRun && type->first_ == 0 && type->lb_ == 0));
  type->memory_bytes_ = static_cast<i64>(sizeof(FlatType) + sizeof(FlatNode)) + root.memory_bytes;
  type->hash_ = root.hash;
  for (i64 v : {type->first_, type->lb_, type->extent_, static_cast<i64>(parts.keep_kinds)})
    type->hash_ = mix_hash(type->hash_, static_cast<std::uint64_t>(v));
  return FlatTypeRef(std::move(type));
}

bool FlatType::monotone_once() const {
  return root_->monotone;
}
bool FlatType::overlapping_once() const {
  return root_->overlapping;
}

i64 FlatType::pieces() const {
  return size_ > 0 ? root_->pieces : 0;
}

i64 FlatType::stream_bytes() const {
  return tiled_ ? tiled_->size : 0;
}

i64 FlatType::alignment() const {
  const i64 bits = first_ | (tiled_ ? tiled_->alignment_bits : 0);
  return bits == 0 ? i64{1} << 62 : bits & -bits;
}

i64 FlatType::offset_of(i64 position) const {
  return tiled_ ? first_ + node_offset_of(*tiled_, position) : lb_;
}

i64 FlatType::bytes_below(i64 offset) const {
  if (!tiled_ || offset <= true_lb_) return 0;
  i64 limit = 0;
  if (__builtin_sub_overflow(offset, first_, &limit)) limit = INT64_MAX;
  return node_bytes_below(*tiled_, limit);
}

FlatTypeRef contiguous_bytes() {
  static const FlatTypeRef* const one = new FlatTypeRef(FlatType::lower(*byte_type()).value());
  return *one;
}

}  // namespace mercutio
