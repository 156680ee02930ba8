// What the nodes of a collective access tell each other, and what a node remembers of it. Inside engine/ only.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "engine/dense.h"
#include "engine/node_arena.h"
#include "model/pattern.h"
#include "plan/plan.h"

namespace mercutio {

// What rank 0 decides, as it might differ between ranks although it must not.
struct Choices {
  i64 stripe_bytes = 0, stripe_count = 0, block_bytes = 0;
  std::uint64_t layout = 0;   // the key of its layout by range; 0: there is none
  i64 buffering = 0;        // romio_cb_read or romio_cb_write
  i64 buffer_bytes = 0;
  i64 aggregators = 0;
  bool operator==(const Choices&) const = default;
};

// What ranks contribute beside their data: of one rank, and added up.
struct Circumstances {
  i64 failed = 0, more = 0, atomic = 0;
  i64 disorderly = 0;       // some view isn't monotone or has a byte twice
  i64 reads = 0;            // the highest BlockingDetector::Reads: whether reads of this file have blocked
  static constexpr i64 kUnknown = 1, kNotAsked = 2;
  i64 unknown_size = 0;     // reading: whether some rank doesn't know the file size after all its earlier writes, or hasn't asked yet
  i64 file_bytes = -1;      // reading: the largest such size that is known
  i64 known_bytes = -1;     // the size that is known without asking, if rank 0 asks when it is needed; else -1
  std::uint64_t lowest_layout = UINT64_MAX, highest_layout = 0;   // of the keys of the layouts by range that ranks hold
  i64 alignment = INT64_MAX;   // the largest power of two that divides where pieces begin and end

  void add(const Circumstances& other) {
    failed |= other.failed;
    more |= other.more;
    atomic |= other.atomic;
    disorderly |= other.disorderly;
    reads = std::max(reads, other.reads);
    unknown_size |= other.unknown_size;
    file_bytes = std::max(file_bytes, other.file_bytes);
    known_bytes = std::max(known_bytes, other.known_bytes);
    lowest_layout = std::min(lowest_layout, other.lowest_layout);
    highest_layout = std::max(highest_layout, other.highest_layout);
    alignment = std::min(alignment, other.alignment);
  }
  bool plans_like(const Circumstances& other) const { return atomic == other.atomic && disorderly == other.disorderly && reads == other.reads; }
  bool all_hold(std::uint64_t layout) const { return lowest_layout == layout && highest_layout == layout; }
};

// What a rank says.
struct Entry {
  Circumstances circumstances;
  Choices choices;          // rank 0
  RankSummary summary;
  AccessSignature signature;
  DensePatterns::Keys dense{};   // the dense patterns that this rank knows
};

// Of a member of the node, by index, after a gather of entries.
inline const Entry& entry_at(const NodeArena& arena, size_t member) {
  return *reinterpret_cast<const Entry*>(arena.contribution(static_cast<i64>(member)));
}

// What a node says: the entries of its ranks, added up.
constexpr size_t kGroupsInEntry = 2;
struct NodeEntry {
  Circumstances circumstances;
  Choices choices;
  PatternTotals totals;
  i64 repeats = 0;          // the last access of this direction, as far as this node takes part, `moved_by` bytes further on
  i64 moved_by = 0;
  i64 disjoint = 1;         // no two ranks' ranges overlap
  i64 groups = 0;
  OpenGroup first_groups[kGroupsInEntry];   // all of them, if they fit
};
static_assert(std::is_trivially_copyable_v<NodeEntry>);

// What all ranks together are about to do.
struct Gathered {
  Circumstances circumstances;
  Choices choices;
  Pattern pattern;
  std::vector<FileRange> ranges;
};

// The last collective access of each direction, kept on the nodes' first ranks, so that the same pattern at another offset needs no
// gather. Accesses of one file come here one after the other, in the same order on all ranks.
class PatternMemory {
 public:
  struct Last {
    NodeEntry mine;
    std::vector<OpenGroup> groups;   // of this node
    Gathered all;
    bool expected = true;            // the next access may repeat it: worth an all-reduce that says so
  };
  std::optional<Last>& last(Direction direction) { return last_[index(direction)]; }

  // The last access without exchange where one node holds all ranks: the same again, at another offset, has the same plan.
  struct Alone {
    std::vector<Entry> entries;
    i64 hints_edition = 0;
    std::shared_ptr<const Plan> plan;   // null: there was none
  };
  Alone& alone(Direction direction) { return alone_[index(direction)]; }
  // Whether the last access of all ranks had none. Any thread.
  bool moves_alone(Direction direction) const { return moves_alone_[index(direction)].load(std::memory_order_relaxed); }
  void set_moves_alone(Direction direction, bool alone) { moves_alone_[index(direction)].store(alone, std::memory_order_relaxed); }

 private:
  static size_t index(Direction direction) { return direction == Direction::kRead ? 0 : 1; }
  std::array<std::optional<Last>, 2> last_;
  std::array<Alone, 2> alone_;
  std::array<std::atomic<bool>, 2> moves_alone_{};
};

}  // namespace mercutio
