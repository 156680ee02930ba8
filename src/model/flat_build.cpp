// The normalising constructors: what they return is in canonical form (flat_node.h) if their arguments are.
// O(1) for runs and strides, O(entries) for irregular ones.
#include <utility>

#include "model/flat_node.h"

namespace mercutio {
namespace {

using Kind = FlatNode::Kind;

bool same_tree(const FlatNodeRef& a, const FlatNodeRef& b) {
  return a == b || (a->hash == b->hash && a->size == b->size && a->kind == b->kind && a->pieces == b->pieces);
}

}  // namespace

Placed NodeBuilder::run(i64 bytes, const BasicType& basic) {
  if (bytes <= 0) return {};
  FlatNode n;
  n.kind = Kind::kRun;
  n.size = bytes;
  if (keep_kinds_) n.basic = basic;
  return {finish(std::move(n)), 0};
}

Placed NodeBuilder::strided(i64 count, i64 stride, const Placed& child) {
  if (!child.node || count <= 0) return {};
  if (count == 1) return child;
  const FlatNode& c = *child.node;
  if (c.kind == Kind::kRun && stride == c.size) return {run(math_.mul(count, c.size), c.basic).node, child.first};
  FlatNode n;
  n.kind = Kind::kStrided;
  n.count = count;
  n.stride = stride;
  n.child = child.node;
  i64 inner_span = 0;
  if (c.kind == Kind::kStrided && !__builtin_mul_overflow(c.count, c.stride, &inner_span) && stride == inner_span) {
    n.count = math_.mul(count, c.count);
    n.stride = c.stride;
    n.child = c.child;
  }
  return {finish(std::move(n)), child.first};
}

// Blocks that continue each other are one entry.
Placed NodeBuilder::blocks(const Placed& child, i64 step, const BlockList& list) {
  if (!child.node) return {};
  const std::size_t most = list.places.size();
  Entries entries{{}, EntrySums(most)};
  i64 first = 0, start = 0, copies = 0;   // of the entry that may still grow
  const auto keep = [&] {
    if (copies == 0) return;
    entries.offsets.push_back(math_.sub(start, first));
    entries.bytes.push_back(math_.mul(copies, child.node->size), math_);
  };
  entries.offsets.reserve(most);
  for (std::size_t i = 0; i < most; ++i) {
    const i64 length = list.length_at(i);
    if (length <= 0) continue;
    const i64 offset = math_.add(math_.mul(list.places[i], list.scale), child.first);
    if (copies > 0 && step != 0 && math_.add(start, math_.mul(copies, step)) == offset) {
      copies = math_.add(copies, length);
      continue;
    }
    keep();
    if (copies == 0) first = offset;
    start = offset;
    copies = length;
  }
  keep();
  return irregular(first, std::move(entries), child.node, step);
}

Placed NodeBuilder::irregular(i64 first, Entries entries, const FlatNodeRef& child, i64 step) {
  LargeVector<i64>& offsets = entries.offsets;
  if (offsets.empty() || math_.overflow) return {};
  const i64 copies = entries.bytes.unit() / child->size;   // in the first entry
  if (offsets.size() == 1) return {strided(copies, step, {child, 0}).node, first};
  FlatNode n;
  FlatNodeRef whole = child;
  const bool uniform = entries.bytes.uniform();
  if (uniform) {
    whole = strided(copies, step, {child, 0}).node;
    if (!whole) return {};
    const i64 delta = offsets[1];
    bool regular = true;
    for (std::size_t i = 2; i < offsets.size() && regular; ++i) regular = math_.sub(offsets[i], offsets[i - 1]) == delta;
    if (regular) return {strided(static_cast<i64>(offsets.size()), delta, {whole, 0}).node, first};
    n.unit = whole->size;
  }
  const bool dense = child->kind == Kind::kRun && step == child->size;
  n.kind = (uniform ? whole->kind == Kind::kRun : dense) ? Kind::kRuns : Kind::kBlocks;
  if (n.kind == Kind::kRuns) n.basic = child->basic;
  if (n.kind == Kind::kBlocks) n.child = whole;
  if (!uniform) {
    n.stride = n.kind == Kind::kBlocks ? step : 0;
    n.prefix = entries.bytes.take();
  }
  n.offsets = std::move(offsets);
  return {finish(std::move(n)), first};
}

// Runs of one kind, as single bytes of it.
Placed NodeBuilder::join_runs(const std::vector<Placed>& parts) {
  std::vector<i64> offsets, lengths;
  for (const Placed& part : parts) {
    offsets.push_back(part.first);
    lengths.push_back(part.node->size);
  }
  return blocks(run(1, parts[0].node->basic), 1, BlockList{offsets, 1, lengths, 0});
}

Placed NodeBuilder::sequence(std::vector<Placed> parts) {
  std::vector<Placed> kept;
  bool runs = true;
  for (Placed& part : parts) {
    if (!part.node) continue;
    const bool is_run = part.node->kind == Kind::kRun;
    if (is_run && !kept.empty() && kept.back().node->kind == Kind::kRun &&
        kept.back().first + kept.back().node->size == part.first &&
        same_kind(kept.back().node->basic, part.node->basic)) {
      kept.back().node = run(math_.add(kept.back().node->size, part.node->size), part.node->basic).node;
      if (!kept.back().node) return {};
      continue;
    }
    runs = runs && is_run && (kept.empty() || same_kind(kept[0].node->basic, part.node->basic));
    kept.push_back(std::move(part));
  }
  if (kept.empty() || math_.overflow) return {};
  if (kept.size() == 1) return kept[0];
  if (runs) return join_runs(kept);
  const i64 first = kept[0].first;
  const bool same =
      std::all_of(kept.begin(), kept.end(), [&](const Placed& p) { return same_tree(p.node, kept[0].node); });
  FlatNode n;
  n.kind = Kind::kStruct;
  LargeVector<i64> offsets;
  n.prefix.push_back(0);
  for (Placed& part : kept) {
    offsets.push_back(math_.sub(part.first, first));
    n.prefix.push_back(math_.add(n.prefix.back(), part.node->size));
    n.children.push_back(part.node);
  }
  if (same) {
    EntrySums bytes;
    for (const Placed& part : kept) bytes.push_back(part.node->size, math_);
    return irregular(first, {std::move(offsets), std::move(bytes)}, kept[0].node, 0);
  }
  n.offsets = std::move(offsets);
  return {finish(std::move(n)), first};
}

}  // namespace mercutio
