// Collective accesses in which each rank has at most one run of the file and of memory, if one node holds all ranks. Inside engine/ only.
//
// The ranks gather where their runs are, and each finds from all of them how they are moved:
//   led   few bytes in few runs, written to storage that only copies by ranks with a core each. What a rank writes is part of what it contributes to
//         the gather. The first rank writes the bytes of all ranks, with adjacent runs in one piece, as writes of one file wait for each other.
//   own   the runs are disjoint, or few bytes are read. Each rank moves its own, as the planner has it if no hint asks for more.
// Otherwise they go on with enter(). Then the ranks agree, as after every collective access. No rank returns before all data has been moved.
// Costs two gathers and O(ranks), or one gather if the ranks move early (engine/early.h).
#pragma once

#include <array>
#include <optional>

#include "engine/early.h"
#include "engine/engine.h"
#include "engine/node_entry.h"

namespace mercutio {

// All ranks get the same answer, for all accesses of a file.
bool may_move_runs(const EngineFile& file, const Channel& channel);
// Whether the next access may be moved so, after one of this pattern that was not tried.
bool are_runs(const Gathered& all);

// The run of this rank, with 0 bytes if it has no data. Nothing: it can't take part in this way.
std::optional<IoPiece> run_of(const EngineFile& file, const Access& access, const CollectiveOptions& options);

// The access of a rank, before, between and after its gathers.
class RunAccess {
 public:
  // Moves this rank's data, if the ranks move early.
  RunAccess(const EngineFile& file, const Channel& channel, Direction direction, const std::optional<IoPiece>& mine);
  ConstBytes entry() const { return std::as_bytes(std::span(&entry_, 1)).first(entry_bytes_); }   // what is gathered first
  bool decide();           // what all ranks do; false: they go on with enter()
  bool is_over() const { return over_; }   // all ranks have moved their data early
  Status move();           // otherwise: the part of this rank. Then the ranks agree on its status
  i64 moved() const { return moved_; }     // after that, if all have succeeded

  static constexpr i64 kMostRanks = 128;
  static constexpr i64 kHeadBytes = 4 * static_cast<i64>(sizeof(i64));
  static constexpr i64 kEntryBytes = NodeArena::kGatherBytes - kHeadBytes;
  // Being led costs a second meeting, and two copies from core to core. Of a few ranks that takes longer than their waiting for each other, unless their
  // runs are short. Ranks that share cores wait for each other in any case.
  static constexpr i64 kFewRanks = 8, kShortBytes = 128;
  static constexpr i64 kMostLedBytes = 8 * KiB;   // of all ranks

 private:
  static constexpr i64 kMovesOwn = 1, kIsShort = 2, kMovedEarly = 4, kMayMoveEarly = 8;   // flags
  static constexpr size_t kMostLedPieces = 8;

  struct Entry {
    i64 flags = 0, offset = 0, bytes = 0;
    i64 early_ns = 0;   // engine/early.h
    std::byte data[kEntryBytes];
    i64 end() const { return offset + bytes; }
  };
  static_assert(sizeof(Entry) <= NodeArena::kGatherBytes && std::is_trivially_copyable_v<Entry>);
  enum class Way { kNone, kOwn, kLed };

  const Entry& entry_of(i64 member) const { return *reinterpret_cast<const Entry*>(channel_.ticket->arena().contribution(member)); }
  bool reads() const { return direction_ == Direction::kRead; }
  bool is_short() const;     // the bytes of this rank may be led, or read where others read them, too
  i64 short_bytes() const;   // the most bytes that may
  Way way_of_all(i64 flags);
  const char* text() const;   // for explain
  void enter(Phase phase) const;
  Status lead();
  Result<i64> write_guarded(std::span<const IoPiece> pieces) const;
  Result<i64> move_own() const;

  const EngineFile& file_;
  const Channel& channel_;
  const Direction direction_;
  const IoPiece mine_;
  const EarlyMove early_;
  Entry entry_;
  size_t entry_bytes_ = kHeadBytes;
  Way way_ = Way::kNone;
  bool over_ = false;
  std::array<const Entry*, kMostRanks> entries_;   // those with data, by offset: the first `count_`
  size_t count_ = 0;
  i64 moved_ = 0;
};

// All of it. Nothing: the ranks go on with enter().
Task<std::optional<Result<i64>>> move_runs(const EngineFile& file, const Channel& channel, Direction direction, std::optional<IoPiece> mine);

}  // namespace mercutio
