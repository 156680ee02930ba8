#include "engine/window/window_io.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/io/pieces.h"

namespace mercutio {
namespace {

constexpr i64 kLargestMergedHole = 64 * KiB;   // longer holes are neither read nor merged
constexpr i64 kLongRun = 64 * KiB;             // runs of this average length are written without merging
constexpr i64 kMergeScratchBytes = 1 * MiB;

i64 largest_hole_to_read(const EngineFile& file) {
  return only_copies(file) ? kCopiedHoleBytes - 1 : kLargestMergedHole;
}

// Adjacent valid runs with only small holes between them; [begin, end) in the window. No runs: there are no more.
struct Group {
  i64 begin = 0, end = 0;
  i64 runs = 0, covered = 0;
  // Whether one merged write is better than one for each run.
  bool worth_merging() const { return runs > 1 && covered / runs < kLongRun; }
};

Group next_group(const ValidMap& valid, i64 from, i64 largest_hole = kLargestMergedHole) {
  Group group;
  group.begin = valid.next_valid(from);
  group.end = group.begin;
  for (i64 at = group.begin; at < valid.bytes;) {
    if (group.runs > 0 && at - group.end > largest_hole) break;
    group.end = valid.next_hole(at);
    group.covered += group.end - at;
    ++group.runs;
    at = valid.next_valid(group.end);
  }
  return group;
}

// Fills the holes of [begin, end) with the contents of the file, or with zeros beyond its end.
Status fill_holes(const EngineFile& file, FileRange window, std::byte* data, const ValidMap& valid,
                  const Group& group) {
  const PhaseScope phase(file.counters, Phase::kSieve);
  ScratchBuffer scratch(std::min(kMergeScratchBytes, group.end - group.begin));
  for (i64 hole = valid.next_hole(group.begin); hole < group.end; hole = valid.next_hole(hole)) {
    // One read serves all holes that begin within the length of a scratch buffer.
    const i64 begin = hole;
    const i64 end = std::min(begin + scratch.bytes, group.end);
    i64 last = begin;
    for (i64 at = begin; at < end; at = valid.next_hole(last)) last = std::min(valid.next_valid(at), end);
    const IoPiece piece{window.begin + begin, scratch.data.get(), last - begin};
    MERCUTIO_TRY(read_to_merge(file, piece));
    for (i64 at = begin; at < last;) {
      const i64 stop = std::min(valid.next_valid(at), last);
      std::memcpy(data + at, scratch.data.get() + (at - begin), static_cast<size_t>(stop - at));
      at = valid.next_hole(stop);
    }
    hole = last;
  }
  return ok_status();
}

Status merge_group(const EngineFile& file, FileRange window, std::byte* data, const ValidMap& valid,
                   const Group& group) {
  const i64 begin = window.begin + group.begin, end = window.begin + group.end;
  MERCUTIO_LET(std::unique_ptr<HeldLock> lock, lock_range(file, begin, end, /*exclusive=*/true, "merge into holes"));
  MERCUTIO_TRY(fill_holes(file, window, data, valid, group));
  MERCUTIO_TRY(move_piece(file, Direction::kWrite, {begin, data + group.begin, group.end - group.begin}));
  return release(std::move(lock));
}

}  // namespace

Status write_valid(const EngineFile& file, FileRange window, std::byte* data, const ValidMap& valid) {
  std::unique_ptr<HeldLock> leave;
  bool may_merge = may_sieve_writes(file);
  PieceBatch batch(file, Direction::kWrite);
  i64 first = -1, last = 0;   // the file range of the batch
  for (Group group = next_group(valid, 0); group.runs > 0; group = next_group(valid, group.end)) {
    if (may_merge && group.worth_merging() && !leave) {
      leave = leave_to_sieve(file);
      may_merge = leave != nullptr;
    }
    if (may_merge && group.worth_merging()) {
      MERCUTIO_TRY(merge_group(file, window, data, valid, group));
    } else {
      if (first < 0) first = group.begin;
      last = group.end;
    }
  }
  if (first < 0) return ok_status();
  MERCUTIO_LET(auto guard, guard_against_sieving(file, window.begin + first, window.begin + last));
  for (Group group = next_group(valid, first); group.runs > 0; group = next_group(valid, group.end)) {
    if (may_merge && group.worth_merging()) continue;
    for (i64 run = group.begin; run < group.end;) {
      const i64 end = valid.next_hole(run);
      MERCUTIO_TRY(batch.add({window.begin + run, data + run, end - run}));
      run = valid.next_valid(end);
    }
  }
  auto written = release_after(batch.finish(), std::move(guard));
  return written ? ok_status() : Status(std::move(written).error());
}

Result<i64> read_needed(const EngineFile& file, FileRange window, std::byte* data, const ValidMap& needed) {
  std::vector<IoPiece> pieces;
  i64 covered = 0;   // needed bytes in the pieces
  i64 end_of_file = INT64_MAX;
  const auto read_all = [&]() -> Status {
    MERCUTIO_LET(i64 got, move_pieces(file, Direction::kRead, pieces));
    if (file.counters) file.counters->hole_bytes += std::max<i64>(0, got - std::exchange(covered, 0));
    // The end is the first needed byte at or after the first missing one. All bytes from there on read as zero.
    for (const IoPiece& piece : pieces) {
      const i64 here = std::min(got, piece.bytes);
      std::memset(piece.data + here, 0, static_cast<size_t>(piece.bytes - here));
      if (here < piece.bytes && end_of_file == INT64_MAX) end_of_file = window.begin + needed.next_valid(piece.offset + here - window.begin);
      got -= here;
    }
    pieces.clear();
    return ok_status();
  };
  const i64 largest_hole = largest_hole_to_read(file);
  for (Group group = next_group(needed, 0, largest_hole); group.runs > 0; group = next_group(needed, group.end, largest_hole)) {
    if (end_of_file != INT64_MAX) {   // beyond the end of the file
      std::memset(data + group.begin, 0, static_cast<size_t>(group.end - group.begin));
      continue;
    }
    covered += group.covered;
    pieces.push_back(IoPiece{window.begin + group.begin, data + group.begin, group.end - group.begin});
    if (std::ssize(pieces) == kPiecesPerCall) MERCUTIO_TRY(read_all());
  }
  MERCUTIO_TRY(read_all());
  return end_of_file;
}

}  // namespace mercutio
