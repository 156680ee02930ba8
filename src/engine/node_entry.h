// What ranks and nodes contribute to the first step of a collective access, and what a node stores of it. Inside engine/ only.
#pragma once

#include <algorithm>
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

// Values that might differ between ranks although the standard requires them to be equal; those of rank 0 are used.
struct Choices {
  i64 stripe_bytes = 0, stripe_count = 0, block_bytes = 0;
  std::uint64_t layout = 0;   // key of its layout by range; 0: none
  i64 buffering = 0;        // romio_cb_read or romio_cb_write
  i64 buffer_bytes = 0;
  i64 aggregators = 0;
  bool operator==(const Choices&) const = default;
};

// What a rank contributes besides its data, or the combination over several ranks.
struct Circumstances {
  i64 failed = 0, more = 0, atomic = 0;
  i64 disorderly = 0;       // some view is not monotone or has overlapping pieces, or some rank has to move its data itself
  i64 reads = 0;            // the maximum of BlockingDetector::Reads: whether reads of this file have blocked
  static constexpr i64 kUnknown = 1, kNotAsked = 2;
  i64 unknown_size = 0;     // reading: some rank does not know the file size after its earlier writes
  i64 file_bytes = -1;      // reading: the largest file size that some rank knows
  i64 known_bytes = -1;     // known size of rank 0, if it asks the server when a read exceeds that size; otherwise -1
  std::uint64_t lowest_layout = UINT64_MAX, highest_layout = 0;   // of the keys of the layouts by range
  i64 alignment = INT64_MAX;   // the largest power of two that divides every offset at which a piece begins or ends

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

// What a rank says of an access whose plan was stored, with the entry that the rank had then.
struct Repetition {
  static constexpr i64 kRepeats = 1, kMoves = 2, kMore = 4, kAtomic = 8;
  i64 flags = 0;          // kRepeats: this entry is the same, if its data has moved by this distance. kMoves: it has data
  i64 moved_by = 0;
  bool repeats() const { return (flags & kRepeats) != 0; }
};

// The contribution of one rank.
struct Entry {
  Repetition repetition;
  Circumstances circumstances;
  Choices choices;          // only rank 0's are used
  RankSummary summary;
  AccessSignature signature;
  DensePatterns::Keys dense{};   // keys of the dense patterns that this rank knows
};

// The entry of a member of the node, by index, after a gather of entries.
inline const Entry& entry_at(const NodeArena& arena, size_t member) {
  return *reinterpret_cast<const Entry*>(arena.contribution(static_cast<i64>(member)));
}

// The contribution of one node: the combined entries of its ranks.
constexpr size_t kGroupsInEntry = 2;
struct NodeEntry {
  Circumstances circumstances;
  Choices choices;
  PatternTotals totals;
  i64 repeats = 0;          // this node repeats its last access of this direction, `moved_by` bytes further on
  i64 moved_by = 0;
  i64 disjoint = 1;         // no two ranks' ranges overlap
  i64 groups = 0;
  OpenGroup first_groups[kGroupsInEntry];   // all groups of the node, if they fit
};
static_assert(std::is_trivially_copyable_v<NodeEntry>);

// The combination over all ranks.
struct Gathered {
  Circumstances circumstances;
  Choices choices;
  Pattern pattern;
  std::vector<FileRange> ranges;
};

// The last collective access of each direction, stored on the first rank of each node. The same pattern at another offset then
// needs no gather. The accesses of a file use it one at a time, in the same order on all ranks.
class PatternMemory {
 public:
  struct Last {
    NodeEntry mine;
    std::vector<OpenGroup> groups;   // of the ranks of this node
    Gathered all;
    bool expected = true;            // the next access may repeat this one, so an all-reduce that tests it is worth its cost
  };
  std::optional<Last>& last(Direction direction) { return last_[index(direction)]; }

  // The last access without exchange if one node holds all ranks. The same access at another offset has the same plan.
  struct Alone {
    Entry mine;
    i64 hints_edition = 0;
    std::shared_ptr<const Plan> plan;   // null: there is none
    bool expected = true;               // the next access may repeat it
  };
  Alone& alone(Direction direction) { return alone_[index(direction)]; }
  // Whether the last access of this direction had no exchange on any rank. Thread-safe.
  bool moves_alone(Direction direction) const { return moves_alone_[index(direction)].load(std::memory_order_relaxed); }
  void set_moves_alone(Direction direction, bool alone) { moves_alone_[index(direction)].store(alone, std::memory_order_relaxed); }
  // Whether the ranks first try to move the next access as runs (engine/runs.h).
  bool expects_runs(Direction direction) const { return runs_[index(direction)].expected; }
  void tried_runs(Direction direction, bool moved) {
    Runs& runs = runs_[index(direction)];
    runs = {moved, 0, moved ? 1 : std::min(2 * runs.patience, kMostPatience)};
  }
  // Of an access that was not tried: whether its pattern has runs.
  void saw_runs(Direction direction, bool runs) {
    Runs& last = runs_[index(direction)];
    last.expected = runs && ++last.since >= last.patience;
  }

 private:
  static size_t index(Direction direction) { return direction == Direction::kRead ? 0 : 1; }
  std::array<std::optional<Last>, 2> last_;
  std::array<Alone, 2> alone_;
  std::array<std::atomic<bool>, 2> moves_alone_{};
  // A pattern of runs may be none to the ranks each time, for example as one of them has a trace. So each try in vain doubles the accesses with runs
  // until the next one.
  struct Runs {
    bool expected = true;
    i64 since = 0, patience = 1;
  };
  static constexpr i64 kMostPatience = 1024;
  std::array<Runs, 2> runs_;
};

}  // namespace mercutio
