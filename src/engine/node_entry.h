// What ranks and nodes contribute to the first step of a collective access, and what a node stores of it. Inside engine/ only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "engine/agreement/node_arena.h"
#include "model/pattern.h"
#include "plan/agreed_hints.h"
#include "plan/plan.h"

namespace mercutio {

// Values that might differ between ranks although the standard requires them to be equal; those of rank 0 are used.
struct Choices {
  i64 stripe_bytes = 0, stripe_count = 0, block_bytes = 0;
  std::uint64_t layout = 0;   // key of its layout by range; 0: none
  ChosenHints hints;
  bool operator==(const Choices&) const = default;
};

// The hash of the layout of a rank's access, and its offset. Accesses with equal hashes cover the same bytes, moved by
// the difference of their origins.
struct AccessSignature {
  std::uint64_t hash = 0;   // 0: no data
  i64 origin = 0;
};

// What a rank contributes besides its data, or the combination over several ranks.
struct Circumstances {
  i64 failed = 0, more = 0, atomic = 0;
  i64 disorderly = 0;       // some view is not monotone or has overlapping pieces, or some rank has to move its data itself
  i64 reads = 0;            // the maximum of BlockingDetector::Reads: whether reads of this file have blocked; with an
                            // adapter, writes, too
  // Reading: what is known of the file size. In ascending priority: each rank knows it after its earlier writes; rank 0
  // asks the server if a read exceeds `file_bytes`; some rank can't tell; no rank has asked yet.
  enum Size : i64 { kKnown, kAtServer, kUnknown, kNotAsked };
  i64 size = kKnown;
  i64 file_bytes = -1;      // the largest file size that some rank knows
  std::uint64_t lowest_layout = UINT64_MAX, highest_layout = 0;   // of the keys of the layouts by range
  i64 alignment = INT64_MAX;   // the largest power of two that divides every offset at which a piece begins or ends

  void add(const Circumstances& other) {
    failed |= other.failed;
    more |= other.more;
    atomic |= other.atomic;
    disorderly |= other.disorderly;
    reads = std::max(reads, other.reads);
    size = std::max(size, other.size);
    file_bytes = std::max(file_bytes, other.file_bytes);
    lowest_layout = std::min(lowest_layout, other.lowest_layout);
    highest_layout = std::max(highest_layout, other.highest_layout);
    alignment = std::min(alignment, other.alignment);
  }
  bool plans_like(const Circumstances& other) const {
    return atomic == other.atomic && disorderly == other.disorderly && reads == other.reads;
  }
  bool all_hold(std::uint64_t layout) const { return lowest_layout == layout && highest_layout == layout; }
};

// How an access compares with the last one of its direction, on one rank, or as maxima over several. If all repeat it,
// moved by the same distance, this is all they must know of each other. Less than a cache line.
struct Repetition {
  enum Word { kStanding, kFarthest, kInverseNearest, kForm, kSize, kFileBytes, kInverseAlignment, kWords };
  // kMovedEarly: its data has been moved (engine/early.h). kMayBeEarly: it may be moved early. kChanged: more than the position has changed.
  enum Standing : i64 { kMovedEarly, kMayBeEarly, kRepeats, kChanged };
  // The distances are of ranks with data. kSize: reading: as in Circumstances; writing: whether signatures have changed; of a plan that is used
  // again: the time of the early move, or kMayNotBeEarly. Inverse values (~) have their minimum where the values have their maximum.
  static constexpr i64 kMayNotBeEarly = INT64_MAX;
  i64 words[kWords] = {kChanged, INT64_MIN, INT64_MIN, 0, 0, -1, INT64_MIN};

  bool repeats() const {
    return words[kStanding] != kChanged && (words[kFarthest] == INT64_MIN || words[kFarthest] == ~words[kInverseNearest]);
  }
  // kNoRun: the rank could not move it as a run (engine/runs.h). kMore: nor is this the last round of the access.
  enum Form : i64 { kRun, kNoRun, kMore };
  bool more() const { return words[kForm] == kMore; }
  i64 moved_by() const { return words[kFarthest] == INT64_MIN ? 0 : words[kFarthest]; }
};

// The contribution of one rank.
struct Entry {
  Repetition repetition;    // the first member, so that those of a node can be reduced where they are
  Circumstances circumstances;
  Choices choices;          // only rank 0's are used
  RankSummary summary;
  AccessSignature signature;   // of a write
};
static_assert(sizeof(Entry) <= NodeArena::kGatherBytes && std::is_trivially_copyable_v<Entry> && offsetof(Entry, repetition) == 0);

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
  std::uint64_t dense_key = 0;   // writing on one node: patterns with equal keys cover the same bytes of their range
  bool repeated = false;         // all nodes repeat their last access
};

// What a rank remembers of the collective accesses of a file. Only the holder of the ticket uses it, so all ranks
// remember the same.
class PatternMemory {
 public:
  // An access whose ranks were gathered, or a repetition of it. The same access at another offset then needs no gather.
  struct Last {
    Entry mine;
    Gathered all;
    bool expected = true;   // the next access may repeat this one, so an all-reduce that tests it is worth its cost
    // The plan, if it has no exchange. It does not depend on the offset.
    std::shared_ptr<const Plan> plan = nullptr;
    i64 hints_edition = 0;
  };
  std::optional<Last>& last(Direction direction) { return last_[index(direction)]; }

  // The latest two patterns that collective writes have covered without a hole. The same pattern at another offset has
  // no hole either, so no rank has to set a valid map. For views with pieces of one element, valid maps cost as much as
  // the copies.
  const std::array<std::uint64_t, 2>& dense() const { return dense_; }   // their keys; 0: none
  void learn_dense(std::uint64_t key) {
    if (dense_[0] != key) dense_ = {key, dense_[0]};
  }

  // Whether the ranks first try to move the next access as runs (engine/runs.h).
  bool expects_runs(Direction direction) const { return runs_[index(direction)].expected; }
  void tried_runs(Direction direction, bool moved) {
    Runs& runs = runs_[index(direction)];
    runs = moved ? Runs{} : Runs{false, -1, std::min(2 * runs.patience, kMostPatience)};   // the access itself is seen, too
  }
  // Whether the ranks move their data early the next time (engine/early.h).
  static constexpr i64 kReadsBeforeEarly = 1, kWritesBeforeEarly = 16;
  bool moves_early(Direction direction) const {
    const Early& early = early_[index(direction)];
    return !early.is_over && early.accesses >= (direction == Direction::kRead ? kReadsBeforeEarly : kWritesBeforeEarly);
  }
  // Of each access: whether all ranks have moved their own data, and whether nothing on any rank kept them from doing so early.
  void saw_own(Direction direction, bool own, bool may) {
    Early& early = early_[index(direction)];
    if (!may && direction == Direction::kWrite && moves_early(direction)) early.is_over = true;
    early.accesses = own && may ? early.accesses + 1 : 0;
  }
  // Of an access that was not moved as runs: whether its pattern has them.
  void saw_runs(Direction direction, bool runs) {
    Runs& last = runs_[index(direction)];
    last.expected = runs && ++last.since >= last.patience;
  }

 private:
  static size_t index(Direction direction) { return direction == Direction::kRead ? 0 : 1; }
  std::array<std::optional<Last>, 2> last_;
  std::array<std::uint64_t, 2> dense_{};
  // A pattern of runs may be none to the ranks each time, for example as the memory of one of them has
  // holes. So each try in vain doubles the accesses with runs until the next one.
  struct Runs {
    bool expected = true;
    i64 since = 0, patience = 1;
  };
  static constexpr i64 kMostPatience = 1024;
  std::array<Runs, 2> runs_;
  struct Early {
    i64 accesses = 0;   // in succession, in which each rank moved its own data and might have done so early
    bool is_over = false;
  };
  std::array<Early, 2> early_;
};

// An access that repeats the last one of its direction at another offset: neither entries are combined nor groups gathered, and a plan without
// exchange is used again. Each rank compares its entry with the one it had then. If the last access was a repetition, or might be followed by
// one, the ranks first reduce their Repetitions: one all-reduce of less than a cache line. They gather entries only if some rank does not repeat.
Repetition repetition_of(const PatternMemory::Last& last, const Entry& now);
// All ranks repeat `last`. It becomes this access, with what would have been gathered of it.
void move_to(PatternMemory::Last& last, const Entry& mine, const Repetition& all);

}  // namespace mercutio
