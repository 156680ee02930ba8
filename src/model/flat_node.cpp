// Values derived from a node's shape: size, bounds, order, overlap, hash; and the two searches in a node.
// Everything is computed from the children's values: O(entries) for irregular nodes, O(1) for the others, except for
// the overlap of interleaved parts (see flat_overlap.cpp).
#include "model/flat_node.h"

namespace mercutio {
namespace {

using Kind = FlatNode::Kind;

// The data bytes before the entries, as they are passed: kept for each kSumStep-th.
class Sums {
 public:
  explicit Sums(FlatNode& n) : n_(n) {
    if (!n.bytes.empty()) n.sums.resize(static_cast<std::size_t>(n.entries() / FlatNode::kSumStep + 1));
  }
  void pass(i64 entry, i64 bytes) {
    if (entry % FlatNode::kSumStep == 0 && !n_.sums.empty()) n_.sums[static_cast<std::size_t>(entry / FlatNode::kSumStep)] = sum_;
    overflow_ |= __builtin_add_overflow(sum_, bytes, &sum_);
  }
  void end(SafeMath& m) {
    pass(n_.entries(), 0);
    n_.size = sum_;
    m.overflow |= overflow_;
  }

 private:
  FlatNode& n_;
  i64 sum_ = 0;
  bool overflow_ = false;
};

// Runs: what derive_entries does, of which maps have millions.
void derive_runs(FlatNode& n, SafeMath& m) {
  const i64 count = n.entries();
  n.pieces = count;
  n.visit_entries([&](auto offsets, auto bytes_of) {
    Sums sums(n);
    i64 lo = offsets[0], hi = lo, previous_start = lo, previous_end = lo - 1;
    bool in_order = true, monotone = true, touches = false, overflow = false;
    for (i64 i = 0; i < count; ++i) {
      const i64 start = offsets[i], bytes = bytes_of(i);
      i64 end = 0;
      overflow |= __builtin_add_overflow(start, bytes, &end);
      sums.pass(i, bytes);
      in_order &= hi <= start;
      monotone &= previous_start <= start;
      touches |= previous_end == start;
      lo = std::min(lo, start);
      hi = std::max(hi, end);
      previous_start = start;
      previous_end = end;
    }
    sums.end(m);
    n.in_order = in_order, n.monotone = monotone, n.touches = touches;
    n.lo = lo, n.hi = hi;
    n.last_start = previous_start, n.last_end = previous_end;
    m.overflow |= overflow;
  });
}

// One entry of kBlocks or kStruct: data from its own first byte at 0.
struct Entry {
  i64 offset, bytes, lo, hi, last_start, last_end;
  bool monotone, touches;
};

Entry entry_at(const FlatNode& n, i64 i, SafeMath& m) {
  Entry e{n.offset_at(i), n.entry_bytes(i), 0, 0, 0, 0, true, false};
  const FlatNode& c = n.kind == Kind::kBlocks ? *n.child : n.child_at(i);
  const i64 copies = n.kind == Kind::kBlocks ? e.bytes / c.size : 1;
  const i64 reach = copies > 1 ? m.mul(copies - 1, n.stride) : 0;
  e.lo = m.add(c.lo, std::min<i64>(0, reach));
  e.hi = m.add(c.hi, std::max<i64>(0, reach));
  e.last_start = m.add(c.last_start, reach);
  e.last_end = m.add(c.last_end, reach);
  e.monotone = c.monotone && (copies == 1 || n.stride >= c.last_start);
  e.touches = c.touches || (copies > 1 && n.stride == c.last_end);
  return e;
}

void derive_entries(FlatNode& n, SafeMath& m) {
  const i64 count = n.entries();
  Sums sums(n);
  n.pieces = 0;
  i64 previous_start = 0, previous_end = -1;
  bool first = true;
  for (i64 i = 0; i < count; ++i) {
    const Entry e = entry_at(n, i, m);
    sums.pass(i, e.bytes);
    const i64 lo = m.add(e.offset, e.lo), hi = m.add(e.offset, e.hi);
    n.in_order = n.in_order && (first || n.hi <= lo);
    n.lo = first ? lo : std::min(n.lo, lo);
    n.hi = first ? hi : std::max(n.hi, hi);
    n.monotone = n.monotone && e.monotone && (first || previous_start <= e.offset);
    n.touches = n.touches || e.touches || (!first && previous_end == e.offset);
    previous_start = m.add(e.offset, e.last_start);
    previous_end = m.add(e.offset, e.last_end);
    first = false;
    if (n.kind == Kind::kStruct) n.pieces = std::min<i64>(INT64_MAX / 4, n.pieces + n.child_at(i).pieces);
  }
  sums.end(m);
  n.last_start = previous_start;
  n.last_end = previous_end;
  if (n.kind == Kind::kBlocks && __builtin_mul_overflow(n.size / n.child->size, n.child->pieces, &n.pieces))
    n.pieces = INT64_MAX / 4;
}

void derive_strided(FlatNode& n, SafeMath& m) {
  const FlatNode& c = *n.child;
  const i64 reach = m.mul(n.count - 1, n.stride);
  n.size = m.mul(n.count, c.size);
  n.lo = m.add(c.lo, std::min<i64>(0, reach));
  n.hi = m.add(c.hi, std::max<i64>(0, reach));
  n.last_start = m.add(c.last_start, reach);
  n.last_end = m.add(c.last_end, reach);
  n.monotone = c.monotone && n.stride >= c.last_start;
  n.touches = c.touches || n.stride == c.last_end;
  if (__builtin_mul_overflow(n.count, c.pieces, &n.pieces)) n.pieces = INT64_MAX / 4;
}

void derive_shape(FlatNode& n) {
  const FlatNode* c = n.child.get();
  n.leaf = n.kind == Kind::kRun || n.kind == Kind::kRuns || (n.kind == Kind::kStrided && c->kind == Kind::kRun);
  n.depth = 1;
  n.memory_bytes = static_cast<i64>(sizeof(FlatNode) + n.children.capacity() * sizeof(FlatNodeRef)) + n.offsets.memory_bytes() +
                   n.bytes.memory_bytes() + static_cast<i64>(n.sums.size() * sizeof(i64));
  const auto take = [&n](const FlatNode& child) {
    n.depth = std::max(n.depth, child.depth + 1);
    n.memory_bytes = std::min<i64>(INT64_MAX / 4, n.memory_bytes + child.memory_bytes);
  };
  if (c) take(*c);
  for (std::size_t i = 0; i < n.children.size(); ++i)
    if (i == 0 || n.children[i] != n.children[i - 1]) take(*n.children[i]);
}

// One look at the lists: their numbers or-ed, and their hash, whatever form they have.
struct ListDigest {
  i64 bits = 0;
  std::uint64_t hash = 0;
};

ListDigest digest_of_lists(const FlatNode& n) {
  ListDigest out;
  n.visit_entries([&](auto offsets, auto bytes_of) {
    std::uint64_t even = 0x6d65, odd = 0x7263;   // each multiplication waits for the one before in its chain
    i64 bits = 0, i = 0;
    const auto take = [&](std::uint64_t& hash, i64 offset, i64 bytes) {
      bits |= offset | bytes;
      hash = mix_hash(hash, static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(bytes));
    };
    for (; i + 1 < n.entries(); i += 2) {
      take(even, offsets[i], bytes_of(i));
      take(odd, offsets[i + 1], bytes_of(i + 1));
    }
    if (i < n.entries()) take(even, offsets[i], bytes_of(i));
    out = {bits, mix_hash(even, odd)};
  });
  return out;
}

std::uint64_t hash_of(const FlatNode& n, std::uint64_t lists) {
  std::uint64_t h = mix_hash(0x6d6572, static_cast<std::uint64_t>(n.kind));
  for (i64 v : {n.size, n.count, n.stride, n.unit, n.entries(), static_cast<i64>(n.basic.kind), n.basic.native_bytes,
                n.basic.external_bytes})
    h = mix_hash(h, static_cast<std::uint64_t>(v));
  h = mix_hash(h, lists);
  if (n.child) h = mix_hash(h, n.child->hash);
  for (const FlatNodeRef& child : n.children) h = mix_hash(h, child->hash);
  return h;
}

// Bytes below `limit` in `count` copies of c, `stride` apart.
i64 strided_bytes_below(const FlatNode& c, i64 count, i64 stride, i64 limit) {
  if (stride == 0) return count * node_bytes_below(c, limit);
  if (stride < 0)  // the same copies seen from the other end
    return strided_bytes_below(c, count, -stride, limit - (count - 1) * stride);
  // Copies [0, full) lie below the limit, those from `none` on lie above it.
  const auto copies_until = [&](i64 edge) {  // number of i >= 0 with i * stride < edge
    return edge <= 0 ? 0 : std::min(count, (edge - 1) / stride + 1);
  };
  const i64 full = copies_until(limit - c.hi + 1);
  const i64 none = copies_until(limit - c.lo), cut = none - full;
  i64 bytes = full * c.size;
  if (c.kind == Kind::kRun && cut > 0) {   // of each, `stride` bytes less
    const i64 of_first_and_last = (limit - full * stride) + (limit - (none - 1) * stride);
    return bytes + (cut % 2 == 0 ? cut / 2 * of_first_and_last : of_first_and_last / 2 * cut);
  }
  if (c.kind == Kind::kStrided && c.count < cut) {   // as the columns of a matrix: by pieces, of which there are fewer
    for (i64 i = 0; i < c.count; ++i) bytes += strided_bytes_below(*c.child, cut, stride, limit - full * stride - i * c.stride);
    return bytes;
  }
  for (i64 i = full; i < none; ++i) bytes += node_bytes_below(c, limit - i * stride);
  return bytes;
}

i64 entry_bytes_below(const FlatNode& n, i64 i, i64 limit) {
  const i64 rest = limit - n.offset_at(i);
  if (n.kind == Kind::kRuns) return std::clamp<i64>(rest, 0, n.entry_bytes(i));
  if (n.kind == Kind::kStruct) return node_bytes_below(n.child_at(i), rest);
  return strided_bytes_below(*n.child, n.entry_bytes(i) / n.child->size, n.stride, rest);
}

}  // namespace

// What places pieces, or-ed together. Of negative numbers too: two's complement keeps the lowest bit.
static i64 alignment_bits_of(const FlatNode& node, i64 lists) {
  i64 bits = node.stride | node.unit | lists;
  if (node.kind == Kind::kRun) bits |= node.size;
  if (node.child) bits |= node.child->alignment_bits;
  for (const FlatNodeRef& child : node.children) bits |= child->alignment_bits;
  return bits;
}

Error NodeBuilder::error() const {
  if (too_deep_) return {ErrorClass::kType, "nested too deep: more than " + std::to_string(kMaxFlatDepth) + " irregular constructors within each other"};
  return {ErrorClass::kCount, "too large: an offset or the size exceeds 64 bits"};
}

FlatNodeRef NodeBuilder::finish(FlatNode node) {
  switch (node.kind) {
    case Kind::kRun:
      node.hi = node.last_end = node.size;
      break;
    case Kind::kStrided:
      derive_strided(node, math_);
      break;
    case Kind::kRuns:
      derive_runs(node, math_);
      break;
    default:
      derive_entries(node, math_);
  }
  math_.sub(node.hi, node.lo);
  derive_shape(node);
  if (node.depth > kMaxFlatDepth) too_deep_ = math_.overflow = true;
  if (math_.overflow) return nullptr;
  if (keep_kinds_) node.touches = false;
  const ListDigest lists = digest_of_lists(node);
  node.alignment_bits = alignment_bits_of(node, lists.bits);
  node.overlapping = node_overlaps(node, overlap_budget_);
  node.hash = hash_of(node, lists.hash);
  return std::make_shared<const FlatNode>(std::move(node));
}

i64 node_offset_of(const FlatNode& root, i64 position) {
  const FlatNode* n = &root;
  i64 offset = 0;
  for (;;) {
    if (n->kind == Kind::kRun) return offset + position;
    if (n->kind == Kind::kStrided) {
      const i64 copy = position / n->child->size;
      offset += copy * n->stride;
      position -= copy * n->child->size;
      n = n->child.get();
      continue;
    }
    const i64 entry = n->entry_of(position);
    offset += n->offset_at(entry);
    position -= n->before(entry);
    if (n->kind == Kind::kRuns) return offset + position;
    if (n->kind == Kind::kStruct) {
      n = &n->child_at(entry);
      continue;
    }
    const i64 copy = position / n->child->size;
    offset += copy * n->stride;
    position -= copy * n->child->size;
    n = n->child.get();
  }
}

i64 node_bytes_below(const FlatNode& n, i64 limit) {
  if (limit <= n.lo) return 0;
  if (limit >= n.hi) return n.size;
  if (n.kind == Kind::kRun) return limit;
  if (n.kind == Kind::kStrided) return strided_bytes_below(*n.child, n.count, n.stride, limit);
  if (n.in_order && n.monotone) {  // only the last entry that starts below the limit can be cut
    const i64 entry = n.offsets.first_from(limit) - 1;
    return n.before(entry) + entry_bytes_below(n, entry, limit);
  }
  i64 bytes = 0;
  for (i64 i = 0; i < n.entries(); ++i) bytes += entry_bytes_below(n, i, limit);
  return bytes;
}

}  // namespace mercutio
