// The nodes of a FlatType, and the constructors that keep them normalised. Internal to src/model.
//
// A node describes data bytes only; lower and upper bounds are stored elsewhere. Canonical form: the first data byte (in typemap
// order) is at offset 0; no node is empty; adjacent bytes form one run; regular patterns are kStrided. The parent (or FlatType)
// stores the offset of that first byte. Derived values are computed once, by finish().
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "base/hash.h"
#include "model/flat_type.h"
#include "model/number_list.h"

namespace mercutio {

using FlatNodeRef = std::shared_ptr<const FlatNode>;

// i64 arithmetic that records overflow. The result of an overflowed operation is 0.
struct SafeMath {
  bool overflow = false;
  i64 add(i64 a, i64 b) {
    i64 r = 0;
    if (__builtin_add_overflow(a, b, &r)) overflow = true, r = 0;
    return r;
  }
  i64 sub(i64 a, i64 b) {
    i64 r = 0;
    if (__builtin_sub_overflow(a, b, &r)) overflow = true, r = 0;
    return r;
  }
  i64 mul(i64 a, i64 b) {
    i64 r = 0;
    if (__builtin_mul_overflow(a, b, &r)) overflow = true, r = 0;
    return r;
  }
};

struct FlatNode {
  enum class Kind : unsigned char {
    kRun,      // `size` dense bytes
    kStrided,  // `count` copies of child at distance `stride`
    kRuns,     // irregular runs of bytes: offsets, entry sizes
    kBlocks,   // irregular: at each offset one or more copies of child at distance `stride`
    kStruct,   // different children at offsets
  };
  static constexpr i64 kSumStep = 32;

  Kind kind = Kind::kRun;
  bool monotone = true;      // start offsets of the pieces never decrease
  bool overlapping = false;  // a byte occurs twice, or the opposite was not proven
  bool touches = false;      // pieces may be adjacent across node boundaries: the cursor has to coalesce
  bool in_order = true;      // the spans of the entries don't interleave (irregular nodes)
  bool leaf = true;          // a cursor stops here: kRun, kRuns, kStrided of kRun
  i64 size = 0;              // data bytes
  i64 lo = 0, hi = 0;        // smallest and one past the largest offset of a data byte
  i64 last_start = 0;        // of the last piece
  i64 last_end = 0;
  i64 pieces = 1;            // saturated
  i64 alignment_bits = 0;        // bitwise or of all offsets, sizes and strides: the lowest set bit divides them all
  i64 depth = 1;
  i64 memory_bytes = 0;  // counts a shared child each time
  std::uint64_t hash = 0;

  i64 count = 0;
  i64 stride = 0;
  BasicType basic;           // kRun, kRuns
  FlatNodeRef child;         // kStrided, kBlocks
  NumberList offsets;        // kRuns, kBlocks, kStruct
  NumberList bytes;          // data bytes of each entry; empty: each has `unit` bytes
  Numbers sums;              // if `bytes` is not empty: data bytes before each kSumStep-th entry
  std::vector<FlatNodeRef> children;  // kStruct
  i64 unit = 0;

  i64 entries() const { return offsets.size(); }
  i64 entry_bytes(i64 entry) const { return bytes.empty() ? unit : bytes[entry]; }
  // Data bytes before an entry; `entry` may be one past the last.
  i64 before(i64 entry) const {
    if (bytes.empty()) return entry * unit;
    i64 i = entry / kSumStep, sum = sums[static_cast<std::size_t>(i)];
    for (i *= kSumStep; i < entry; ++i) sum += bytes[i];
    return sum;
  }
  i64 offset_at(i64 entry) const { return offsets[entry]; }
  const FlatNode& child_at(i64 entry) const { return *children[static_cast<std::size_t>(entry)]; }
  // Calls work(offset_of, bytes_of) with accessors of the actual representation of the lists.
  template <class Work>
  void visit_entries(Work&& work) const {
    offsets.visit([&](auto offset_of) {
      if (bytes.empty()) return work(offset_of, [all = unit](i64) { return all; });
      bytes.visit([&](auto bytes_of) { work(offset_of, [bytes_of](i64 i) { return bytes_of[i]; }); });
    });
  }
  // The entry that holds data byte `position`, 0 <= position < size. O(log entries).
  i64 entry_of(i64 position) const {
    if (bytes.empty()) return position / unit;
    const i64 step = std::upper_bound(sums.begin(), sums.end(), position) - sums.begin() - 1;
    i64 entry = step * kSumStep;
    for (i64 rest = position - sums[static_cast<std::size_t>(step)]; rest >= bytes[entry]; ++entry) rest -= bytes[entry];
    return entry;
  }
};

// A node and where its first data byte lies. Without a node: no data.
struct Placed {
  FlatNodeRef node;
  i64 first = 0;
};

inline constexpr i64 kMaxFlatDepth = 256;
// Pieces that are enumerated to prove that interleaved parts do not overlap, for one node and for all nodes of a type;
// beyond, the answer is "overlapping".
inline constexpr i64 kOverlapBudget = 1 << 14;
inline constexpr i64 kOverlapBudgetOfType = 1 << 18;

// Copies of something at irregular places: at places[i] * scale, lengths[i] of them, or `length` where there are no lengths;
// the copies in a block are `step` apart.
struct BlockList {
  const NumberList& places;
  i64 scale = 1;
  const NumberList& lengths;
  i64 length = 1;
  i64 step = 0;

  // What one look at the list tells. Blocks without copies don't count.
  struct Outline {
    bool negative = false;       // there are negative lengths; then nothing else is told
    i64 entries = 0;             // blocks; those that continue each other are one
    bool equal = true;           // all blocks are of one length, and none continues another
    NumberRange places;          // in bytes
    i64 copies = 0, copies_bits = 0;   // in all; the lengths or-ed
    bool too_many = false;       // more than 64 bits say: wrong if they have data
    i64 low = 0, high = 0;       // the smallest and the largest place of a copy
  };
  Outline outline(SafeMath& math) const;

  // Calls work(places, length_of) with accessors of the actual representation of the lists.
  template <class Work>
  void visit(Work&& work) const {
    places.visit([&](auto place_at) {
      if (lengths.empty()) return work(place_at, [this](i64) { return length; });
      lengths.visit([&](auto length_at) { work(place_at, [&](i64 i) { return length_at[i]; }); });
    });
  }
};

// Builds normalised nodes. After an overflow, also one of the depth, all results are meaningless: check overflow() at the end.
class NodeBuilder {
 public:
  explicit NodeBuilder(bool keep_kinds) : keep_kinds_(keep_kinds) {}
  bool overflow() const { return math_.overflow; }
  Error error() const;   // after one: why the datatype, which "is ...", can't be built
  SafeMath& math() { return math_; }

  Placed run(i64 bytes, const BasicType& basic);
  Placed strided(i64 count, i64 stride, const Placed& child);
  // Copies of child at each place of the list. `outline`: of this list.
  Placed blocks(const Placed& child, const BlockList& list, const BlockList::Outline& outline);
  Placed sequence(std::vector<Placed> parts);
  // Completes a node whose shape is set: derived values, hash. Null on overflow or if the node is too deep.
  FlatNodeRef finish(FlatNode node);

 private:
  Placed join_runs(const std::vector<Placed>& parts);
  // For each entry, copies of `child` at distance `step`. Offsets are relative to the first entry's.
  struct Entries {
    NumberList offsets;
    NumberList bytes;    // as in FlatNode
    i64 unit = 0;        // bytes of the first entry
  };
  Placed irregular(i64 first, Entries entries, const FlatNodeRef& child, i64 step);
  bool same_kind(const BasicType& a, const BasicType& b) const { return !keep_kinds_ || a == b; }

  bool keep_kinds_;
  bool too_deep_ = false;
  SafeMath math_;
  i64 overlap_budget_ = kOverlapBudgetOfType;
};

// Whether any byte occurs twice in the node. Exact as long as the interleaved pieces fit the budget, which the call reduces; beyond
// it the answer is true unless disproven. Requires all fields except `overlapping` and `hash`.
bool node_overlaps(const FlatNode& node, i64& budget);
// Data bytes of the node at offsets < `limit`.
i64 node_bytes_below(const FlatNode& node, i64 limit);
i64 node_offset_of(const FlatNode& node, i64 position);

}  // namespace mercutio
