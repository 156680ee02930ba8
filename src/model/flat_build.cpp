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

// Each number times `scale` plus `base`, of which all are in the range.
NumberList moved_list(const NumberList& list, i64 scale, i64 base, const NumberRange& range) {
  if (auto shared = list.scaled(scale, base)) return *std::move(shared);
  NumberListMaker made(list.size(), range);
  list.visit([&](auto from) {
    made.fill([&](auto to) {
      for (i64 i = 0; i < list.size(); ++i) to.set(i, from[i] * scale + base);
    });
  });
  return made.take();
}

// Blocks that continue each other are one entry, empty ones none: sets where the entries begin, from the first one, and unless
// there is no room for them their bytes. Returns the place of the first.
i64 join_blocks(const BlockList& list, i64 size, NumberListMaker& offsets, NumberListMaker& bytes) {
  i64 entries = 0, first = 0, next = 0, sum = 0;
  list.visit([&](auto place_at, auto length_of) {
    for (i64 i = 0; i < list.places.size(); ++i) {
      const i64 length = length_of(i);
      if (length == 0) continue;
      const i64 place = place_at[i] * list.scale;
      if (entries == 0 || list.step == 0 || place != next) {
        if (entries == 0) first = place;
        offsets.set(entries++, place - first);
        sum = 0;
      }
      next = place + length * list.step;
      sum += length * size;
      if (!bytes.empty()) bytes.set(entries - 1, sum);
    }
  });
  return first;
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

BlockList::Outline BlockList::outline(SafeMath& math) const {
  Outline out;
  visit([&](auto place_at, auto length_of) {
    const i64 count = places.size(), turn = step < 0 ? -1 : 0;   // x ^ -1 turns the order round
    i64 i = 0;
    for (; i < count && length_of(i) <= 0; ++i) out.negative |= length_of(i) < 0;
    if (i == count) return;
    const i64 length = length_of(i);
    Outline o = out;   // what is stored may alias anything but what is in registers
    SafeMath m;
    i64 next = m.mul(place_at[i], scale), farthest = INT64_MIN;   // where a block would continue the one before; the last such
    o.places.least = o.places.greatest = next;
    for (i64 must_start = 1; i < count; ++i, must_start = step == 0) {
      const i64 copies = length_of(i);
      if (copies <= 0) {
        o.negative |= copies < 0;
        continue;
      }
      const i64 place = m.mul(place_at[i], scale), starts = (place != next) | must_start;
      next = m.add(place, m.mul(copies, step));
      farthest = std::max(farthest, next ^ turn);
      o.entries += starts;
      o.equal &= starts & (copies == length);
      o.places.least = std::min(o.places.least, place);
      o.places.greatest = std::max(o.places.greatest, place);
      o.places.bits |= place;
      o.copies_bits |= copies;
      o.too_many |= __builtin_add_overflow(o.copies, copies, &o.copies);
    }
    farthest = m.sub(farthest ^ turn, step);
    o.low = std::min(o.places.least, farthest);
    o.high = std::max(o.places.greatest, farthest);
    math.overflow |= m.overflow;
    out = o;
  });
  return out;
}

// All sums were tried when the list was looked at.
Placed NodeBuilder::blocks(const Placed& child, const BlockList& list, const BlockList::Outline& outline) {
  if (!child.node || outline.entries == 0) return {};
  const i64 size = child.node->size, bytes = math_.mul(outline.copies, size);
  const i64 reach = math_.sub(outline.places.greatest, outline.places.least);
  math_.overflow |= outline.too_many;
  if (math_.overflow) return {};
  const NumberRange places{-reach, reach, outline.places.bits}, sizes{0, bytes, size * (outline.copies_bits & -outline.copies_bits)};
  Entries entries;
  i64 first = 0;
  if (outline.entries == list.places.size()) {
    first = list.places[0] * list.scale;
    entries.offsets = moved_list(list.places, list.scale, math_.sub(0, first), places);
    if (!outline.equal) entries.bytes = moved_list(list.lengths, size, 0, sizes);
  } else {
    NumberListMaker offsets(outline.entries, places), each(outline.equal ? 0 : outline.entries, sizes);
    first = join_blocks(list, size, offsets, each);
    entries.offsets = offsets.take();
    if (!outline.equal) entries.bytes = each.take();
  }
  entries.unit = outline.equal ? bytes / outline.entries : entries.bytes[0];
  return irregular(math_.add(first, child.first), std::move(entries), child.node, list.step);
}

Placed NodeBuilder::irregular(i64 first, Entries entries, const FlatNodeRef& child, i64 step) {
  NumberList& offsets = entries.offsets;
  if (offsets.empty() || math_.overflow) return {};
  const i64 copies = entries.unit / child->size;   // in the first entry
  if (offsets.size() == 1) return {strided(copies, step, {child, 0}).node, first};
  FlatNode n;
  FlatNodeRef whole = child;
  bool uniform = true;
  for (i64 i = 1; i < entries.bytes.size() && uniform; ++i) uniform = entries.bytes[i] == entries.unit;
  if (uniform) {
    whole = strided(copies, step, {child, 0}).node;
    if (!whole) return {};
    const i64 delta = offsets[1];
    bool regular = true;
    for (i64 i = 2; i < offsets.size() && regular; ++i) regular = math_.sub(offsets[i], offsets[i - 1]) == delta;
    if (regular) return {strided(offsets.size(), delta, {whole, 0}).node, first};
    n.unit = whole->size;
  }
  const bool dense = child->kind == Kind::kRun && step == child->size;
  n.kind = (uniform ? whole->kind == Kind::kRun : dense) ? Kind::kRuns : Kind::kBlocks;
  if (n.kind == Kind::kRuns) n.basic = child->basic;
  if (n.kind == Kind::kBlocks) n.child = whole;
  if (!uniform) {
    n.stride = n.kind == Kind::kBlocks ? step : 0;
    n.bytes = std::move(entries.bytes);
  }
  n.offsets = std::move(offsets);
  return {finish(std::move(n)), first};
}

// Runs of one kind, as single bytes of it.
Placed NodeBuilder::join_runs(const std::vector<Placed>& parts) {
  Numbers offsets, lengths;
  for (const Placed& part : parts) {
    offsets.push_back(part.first);
    lengths.push_back(part.node->size);
  }
  const NumberList places(std::move(offsets)), bytes(std::move(lengths));
  const BlockList list{places, 1, bytes, 0, 1};
  return blocks(run(1, parts[0].node->basic), list, list.outline(math_));
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
  Numbers offsets, sizes;
  for (Placed& part : kept) {
    offsets.push_back(math_.sub(part.first, first));
    sizes.push_back(part.node->size);
    n.children.push_back(part.node);
  }
  n.offsets = narrowed(offsets);
  if (same) return irregular(first, {std::move(n.offsets), {}, kept[0].node->size}, kept[0].node, 0);
  n.bytes = narrowed(sizes);
  return {finish(std::move(n)), first};
}

}  // namespace mercutio
