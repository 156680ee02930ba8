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

// What blocks() does in loops of its own: sets where entries begin, from the first one, and unless there is no room for them
// the bytes before each. Returns the place of the first.

i64 separate_blocks(const BlockList& list, i64 size, NumberListMaker& offsets, NumberListMaker& sums) {
  const i64 count = list.places.size(), first = list.places[0] * list.scale;
  list.visit([&](auto place_at, auto length_of) {
    offsets.fill([&](auto offset_at) {
      for (i64 i = 0; i < count; ++i) offset_at.set(i, place_at[i] * list.scale - first);
    });
    if (sums.empty()) return;
    sums.fill([&](auto sum_at) {
      i64 sum = 0;
      for (i64 i = 0; i < count; sum += length_of(i++) * size) sum_at.set(i, sum);
      sum_at.set(count, sum);
    });
  });
  return first;
}

// Blocks that continue each other are one entry, empty ones none.
i64 joined_blocks(const BlockList& list, i64 size, NumberListMaker& offsets, NumberListMaker& sums) {
  i64 entries = 0, first = 0, next = 0, sum = 0;
  const auto begin = [&](i64 place) {
    if (entries == 0) first = place;
    offsets.set(entries, place - first);
    if (!sums.empty()) sums.set(entries, sum);
    ++entries;
  };
  list.visit([&](auto place_at, auto length_of) {
    for (i64 i = 0; i < list.places.size(); ++i) {
      const i64 length = length_of(i);
      if (length == 0) continue;
      const i64 place = place_at[i] * list.scale;
      if (entries == 0 || list.step == 0 || place != next) begin(place);
      next = place + length * list.step;
      sum += length * size;
    }
  });
  if (!sums.empty()) sums.set(entries, sum);
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
  NumberListMaker offsets(outline.entries, {-reach, reach, outline.places.bits});
  NumberListMaker sums(outline.equal ? 0 : outline.entries + 1, {0, bytes, size * (outline.copies_bits & -outline.copies_bits)});
  const i64 first = outline.entries == list.places.size() ? separate_blocks(list, size, offsets, sums) : joined_blocks(list, size, offsets, sums);
  Entries entries{offsets.take(), 0, outline.equal ? NumberList() : sums.take()};
  entries.unit = outline.equal ? bytes / outline.entries : entries.prefix[1];
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
  for (i64 i = 1; i < entries.prefix.size() && uniform; ++i) uniform = entries.prefix[i] - entries.prefix[i - 1] == entries.unit;
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
    n.prefix = std::move(entries.prefix);
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
  Numbers offsets, prefix{0};
  for (Placed& part : kept) {
    offsets.push_back(math_.sub(part.first, first));
    prefix.push_back(math_.add(prefix.back(), part.node->size));
    n.children.push_back(part.node);
  }
  n.offsets = narrowed(offsets);
  if (same) return irregular(first, {std::move(n.offsets), kept[0].node->size, {}}, kept[0].node, 0);
  n.prefix = narrowed(prefix);
  return {finish(std::move(n)), first};
}

}  // namespace mercutio
