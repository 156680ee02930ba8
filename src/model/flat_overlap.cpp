// Does a byte occur twice? Parts whose spans are disjoint are decided in O(entries log entries), runs that lie close
// together in O(entries); nests of strides by comparing each stride with the span of the finer ones; fields that repeat with
// one common period by their residues; what remains is enumerated and sorted, up to a budget.
#include <numeric>
#include <optional>

#include "model/flat_node.h"

namespace mercutio {
namespace {

using Kind = FlatNode::Kind;

struct Span {
  i64 lo, hi;
};

bool spans_disjoint(std::vector<Span>& spans) {
  const auto less = [](const Span& a, const Span& b) { return a.lo < b.lo; };
  if (!std::is_sorted(spans.begin(), spans.end(), less)) std::sort(spans.begin(), spans.end(), less);
  for (std::size_t i = 1; i < spans.size(); ++i)
    if (spans[i - 1].hi > spans[i].lo) return false;
  return true;
}

void enumerate(const FlatNode& n, i64 offset, std::vector<Span>& out);

void enumerate_copies(const FlatNode& c, i64 count, i64 stride, i64 offset, std::vector<Span>& out) {
  for (i64 i = 0; i < count; ++i) enumerate(c, offset + i * stride, out);
}

void enumerate(const FlatNode& n, i64 offset, std::vector<Span>& out) {
  if (n.kind == Kind::kRun) return out.push_back({offset, offset + n.size});
  if (n.kind == Kind::kStrided) return enumerate_copies(*n.child, n.count, n.stride, offset, out);
  for (i64 i = 0; i < n.entries(); ++i) {
    const i64 at = offset + n.offset_at(i);
    if (n.kind == Kind::kRuns) out.push_back({at, at + n.entry_bytes(i)});
    if (n.kind == Kind::kStruct) enumerate(n.child_at(i), at, out);
    if (n.kind == Kind::kBlocks) enumerate_copies(*n.child, n.entry_bytes(i) / n.child->size, n.stride, at, out);
  }
}

// Copies of one pattern `stride` apart overlap only with neighbours within the span: more copies change nothing.
i64 copies_that_matter(i64 count, i64 stride, i64 span) {
  const i64 step = stride < 0 ? -stride : stride;
  return std::min(count, (span - 1) / step + 2);
}

// A pure nest of strides around one run: sorted by |stride|, each must step over all that the finer ones span.
bool nest_disjoint(const FlatNode& n) {
  struct Dimension {
    i64 stride, count;
  };
  std::vector<Dimension> dimensions;
  const FlatNode* c = &n;
  for (i64 limit = copies_that_matter(n.count, n.stride, n.child->hi - n.child->lo); c->kind == Kind::kStrided;
       c = c->child.get(), limit = c->count)
    dimensions.push_back({c->stride < 0 ? -c->stride : c->stride, limit});
  if (c->kind != Kind::kRun) return false;
  std::sort(dimensions.begin(), dimensions.end(), [](auto a, auto b) { return a.stride < b.stride; });
  i64 span = c->size;
  for (const Dimension& d : dimensions) {
    if (d.stride < span) return false;
    span += (d.count - 1) * d.stride;
  }
  return true;
}

// Parts that all repeat with the same period, each narrower than it: disjoint when they are on the circle of the
// period.
bool residues_disjoint(const FlatNode& n) {
  const i64 period = n.child_at(0).kind == Kind::kStrided ? n.child_at(0).stride : 0;
  if (period <= 0) return false;
  std::vector<Span> spans;
  for (i64 i = 0; i < n.entries(); ++i) {
    const FlatNode& part = n.child_at(i);
    if (part.kind != Kind::kStrided || part.stride != period) return false;
    const FlatNode& c = *part.child;
    if (c.hi - c.lo > period) return false;
    const i64 lo = (((n.offset_at(i) + c.lo) % period) + period) % period;
    const i64 hi = lo + (c.hi - c.lo);
    spans.push_back({lo, std::min(hi, period)});
    if (hi > period) spans.push_back({0, hi - period});
  }
  return spans_disjoint(spans);
}

bool enumerated_overlaps(const FlatNode& n, const FlatNode* child, i64 count, i64& budget) {
  const i64 pieces = child ? child->pieces : n.pieces;
  const i64 most = std::min(kOverlapBudget, budget);
  if (pieces > most || count > most / pieces) return true;
  budget -= pieces * count;
  std::vector<Span> spans;
  spans.reserve(static_cast<std::size_t>(pieces * count));
  if (child)
    enumerate_copies(*child, count, n.stride, 0, spans);
  else
    enumerate(n, 0, spans);
  return !spans_disjoint(spans);
}

bool strided_overlaps(const FlatNode& n, i64& budget) {
  const FlatNode& c = *n.child;
  const i64 span = c.hi - c.lo;
  if (c.overlapping || n.stride == 0) return true;
  if (n.stride >= span || n.stride <= -span) return false;
  if (nest_disjoint(n)) return false;
  return enumerated_overlaps(n, &c, copies_that_matter(n.count, n.stride, span), budget);
}

// Runs in any order, as bits of a map of what they take: one for the largest power of two that divides where all begin and
// end. Where that takes less memory than a list to be sorted would; else nothing is known.
std::optional<bool> mapped_overlaps(const FlatNode& n) {
  const int shift = __builtin_ctzll(static_cast<unsigned long long>(n.alignment_bits));
  const i64 units = (n.hi - n.lo) >> shift;
  if (units > 128 * n.entries()) return std::nullopt;
  std::vector<bool> taken(static_cast<std::size_t>(units));
  for (i64 i = 0; i < n.entries(); ++i) {
    const i64 begin = (n.offset_at(i) - n.lo) >> shift, end = begin + (n.entry_bytes(i) >> shift);
    for (i64 unit = begin; unit < end; ++unit) {
      if (taken[static_cast<std::size_t>(unit)]) return true;
      taken[static_cast<std::size_t>(unit)] = true;
    }
  }
  return false;
}

// The copies in one entry of kBlocks may lie between each other.
bool copies_interleave(const FlatNode& n) {
  if (n.kind != Kind::kBlocks || n.bytes.empty()) return false;
  const i64 span = n.child->hi - n.child->lo;
  return n.stride < span && n.stride > -span;
}

std::vector<Span> entry_spans(const FlatNode& n) {
  std::vector<Span> spans;
  spans.reserve(static_cast<std::size_t>(n.entries()));
  for (i64 i = 0; i < n.entries(); ++i) {
    const i64 at = n.offset_at(i);
    if (n.kind == Kind::kRuns) {
      spans.push_back({at, at + n.entry_bytes(i)});
      continue;
    }
    const FlatNode& c = n.kind == Kind::kStruct ? n.child_at(i) : *n.child;
    const i64 copies = n.kind == Kind::kStruct ? 1 : n.entry_bytes(i) / c.size;
    const i64 reach = (copies - 1) * n.stride;
    spans.push_back({at + c.lo + std::min<i64>(0, reach), at + c.hi + std::max<i64>(0, reach)});
  }
  return spans;
}

}  // namespace

bool node_overlaps(const FlatNode& n, i64& budget) {
  if (n.kind == Kind::kRun) return false;
  if (n.kind == Kind::kStrided) return strided_overlaps(n, budget);
  if (n.kind == Kind::kBlocks && n.child->overlapping) return true;
  if (std::any_of(n.children.begin(), n.children.end(), [](const FlatNodeRef& child) { return child->overlapping; }))
    return true;
  if (!copies_interleave(n)) {
    if (n.in_order) return false;
    if (n.kind == Kind::kRuns) {
      if (const auto overlaps = mapped_overlaps(n)) return *overlaps;
    }
    std::vector<Span> spans = entry_spans(n);
    if (spans_disjoint(spans)) return false;
  }
  if (n.kind == Kind::kRuns) return true;
  if (n.kind == Kind::kStruct && residues_disjoint(n)) return false;
  return enumerated_overlaps(n, nullptr, 1, budget);
}

}  // namespace mercutio
