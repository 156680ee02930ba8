// Collective accesses in which each rank has at most one run of the file and of memory, if one node holds all ranks. Inside engine/ only.
//
// The ranks gather where their runs are, and each finds from all of them how they are moved:
//   led   few bytes in few runs, on storage that only copies. What a rank writes is part of what it contributes to the gather. The first rank
//         moves the bytes of all ranks, with adjacent runs in one piece. What it reads for another rank, it leaves in that rank's contribution.
//   own   the runs are disjoint. Each rank moves its own, as the planner has it if no hint asks for more.
// Otherwise they go on with enter(). Then the ranks agree, as after every collective access. No data moves before all ranks have arrived, and
// no rank returns before all data has been moved. Costs two gathers and O(ranks).
#pragma once

#include <array>
#include <climits>
#include <optional>

#include "engine/engine.h"
#include "engine/node_entry.h"

namespace mercutio {

// All ranks get the same answer: the first for all accesses of a file, the second for those that hold the ticket now.
bool may_move_runs(const EngineFile& file, const Channel& channel);
bool expects_runs(const EngineFile& file, Direction direction);
// Whether the next access may be moved so, after one of this pattern that was not tried.
bool are_runs(const Gathered& all);

// The run of this rank, with 0 bytes if it has no data. Nothing: it can't take part in this way.
std::optional<IoPiece> run_of(const EngineFile& file, const Access& access, const CollectiveOptions& options);

// The access of a rank, before, between and after its gathers.
class RunAccess {
 public:
  RunAccess(const EngineFile& file, const Channel& channel, Direction direction, const std::optional<IoPiece>& mine);
  ConstBytes entry() const { return std::as_bytes(std::span(&entry_, 1)).first(entry_bytes_); }   // what is gathered first
  bool decide();           // what all ranks do; false: they go on with enter()
  Status move();           // the part of this rank. Then the ranks agree on its status, and on the minimum of lowest()
  std::span<i64> lowest() { return std::span(&end_, 1); }
  i64 finish() const;      // after that, if all have succeeded: the bytes moved of this rank

  static constexpr i64 kMostRanks = 128;
  static constexpr i64 kEntryBytes = NodeArena::kGatherBytes - 3 * static_cast<i64>(sizeof(i64));

 private:
  static constexpr i64 kMovesOwn = 1, kMayBeLed = 2;            // flags
  static constexpr i64 kMostLedBytes = 8 * KiB;                 // of all ranks
  static constexpr size_t kMostLedReads = 1, kMostLedWrites = 8;   // pieces: ranks read at the same time, but writes of one file wait for each other

  struct Entry {
    i64 flags = 0, offset = 0, bytes = 0;
    std::byte data[kEntryBytes];
    i64 end() const { return offset + bytes; }
  };
  static_assert(sizeof(Entry) <= NodeArena::kGatherBytes && std::is_trivially_copyable_v<Entry>);
  enum class Way { kNone, kOwn, kLed };

  Entry& entry_of(i64 member) const { return *reinterpret_cast<Entry*>(channel_.ticket->arena().contribution(member)); }
  bool reads() const { return direction_ == Direction::kRead; }
  i64 flags() const;
  Way way_of_all();
  const char* text() const;   // for explain
  void enter(Phase phase) const;
  void copied(i64 bytes) const;
  Status lead();
  Result<i64> write_guarded(std::span<const IoPiece> pieces) const;
  Result<i64> move_own() const;

  const EngineFile& file_;
  const Channel& channel_;
  const Direction direction_;
  const IoPiece mine_;
  Entry entry_;
  size_t entry_bytes_ = 3 * sizeof(i64);
  Way way_ = Way::kNone;
  std::array<Entry*, kMostRanks> entries_;       // those with data, by offset: the first `count_`
  std::array<IoPiece, kMostLedWrites> pieces_;   // of the file, which cover them: the first `piece_count_`
  size_t count_ = 0, piece_count_ = 0;
  const std::byte* own_ = nullptr;               // the data in this rank's contribution
  i64 end_ = INT64_MAX;                          // of the file, if a read has met it
  i64 moved_ = 0;
};

// All of it. Nothing: the ranks go on with enter().
Task<std::optional<Result<i64>>> move_runs(const EngineFile& file, const Channel& channel, Direction direction, std::optional<IoPiece> mine);

}  // namespace mercutio
