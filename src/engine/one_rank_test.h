// For tests only: one rank's file and its successive accesses, in which each rank has one run or block.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>

#include "base/frames.h"
#include "comm/in_process.h"
#include "engine/node_entry.h"
#include "engine/runs.h"
#include "engine/test_support.h"

namespace mercutio::testing {

inline thread_local long allocations = 0;   // by operator new, where it counts them

inline constexpr i64 kRanks = 4, kBytes = 64;

// One rank's file and its successive accesses.
class OneRank {
 public:
  OneRank(Comm& comm, SharedFile& file, Hints hints) : comm_(comm), storage_(file), hints_(std::move(hints)), arena_(NodeArena::of(comm)) {
    file_ = EngineFile{&storage_, &comm, &hints_, nullptr, &dirty_, true};
    file_.plans = &plans_;
    file_.patterns = &patterns_;
    file_.sieved = false;   // no rank's view has holes, so writes take no lock
    file_.hints_edition = 1;
    file_.core_each = true;
  }

  Result<i64> move(OwnedAccess& owned, Status entry = ok_status()) {
    counters_ = Counters{};
    if (file_.trace) counters_.clock.start(now_ns());
    file_.counters = &counters_;
    const Channel channel{&comm_, 1, std::allocate_shared<Ticket>(FrameAllocator<Ticket>(), *arena_)};
    CollectiveOptions options;
    options.entry = std::move(entry);
    const long allocated = allocations;
    const i64 frames = frames_taken();
    const auto backoff = [&](i64 spins) { comm_.backoff(spins); };
    const Pause pause = [&](i64 looks) { return backoff(looks), true; };
    std::optional<Result<i64>> at_once;
    EngineFile unhinted = file_;   // a blocking call does not look at the hints before
    const Hints defaults;
    unhinted.hints = &defaults;
    const std::optional<IoPiece> mine = run_of(unhinted, owned.access, options);
    if (waits_at_once() && mine) at_once = move_run_at_once(file_, channel, owned.access.direction, *mine, pause);
    Result<i64> moved = at_once ? *std::move(at_once) : run(collective(file_, channel, owned.access, options), backoff);
    counters_.clock.stop();
    allocations_ = allocations - allocated;
    frames_ = frames_taken() - frames;
    return moved;
  }

  // Half of the ranks call move_run_at_once(), which the others don't notice.
  bool waits_at_once() const { return all_wait_at_once_ || comm_.rank() % 2 == 1; }
  void let_all_wait_at_once() { all_wait_at_once_ = true; }   // on all ranks
  void trace_to(TraceSink* sink) { file_.trace = sink; }
  void permit_early_moves() { file_.independent_accesses = &watch_, file_.is_traced = true; }
  void access_alone() { accesses_.note(); }
  void change(Hints hints) {
    hints_ = std::move(hints);
    ++file_.hints_edition;
  }
  const Counters& counters() const { return counters_; }
  TestStorage& storage() { return storage_; }
  i64 allocated() const { return allocations_; }
  i64 frames() const { return frames_; }

 private:
  bool all_wait_at_once_ = false;
  Comm& comm_;
  TestStorage storage_;
  Hints hints_;
  const std::shared_ptr<NodeArena> arena_;
  std::atomic<bool> dirty_{false};
  IndependentAccesses accesses_;
  IndependentAccesses::Watch watch_{accesses_};
  PlanCache plans_;
  PatternMemory patterns_;
  EngineFile file_;
  Counters counters_;
  i64 allocations_ = 0, frames_ = 0;
};

// One block per rank and access. The blocks of one access are adjacent. A block is a run, unless it lies in two pieces of memory.
inline OwnedAccess block_of(Direction direction, i64 rank, i64 number, i64 bytes, const TypeSpecRef& memory) {
  OwnedAccess owned = make_access(direction, make_view(0, byte_type()), (number * kRanks + rank) * bytes, bytes, memory);
  if (direction == Direction::kWrite) std::fill(owned.buffer.begin(), owned.buffer.end(), static_cast<std::byte>(number * kRanks + rank + 1));
  return owned;
}
inline OwnedAccess run_of_rank(Direction direction, i64 rank, i64 number, i64 bytes = kBytes) {
  return block_of(direction, rank, number, bytes, make_contiguous(bytes, byte_type()));
}
inline OwnedAccess block_of(Direction direction, i64 rank, i64 number) {
  return block_of(direction, rank, number, kBytes, make_vector(2, kBytes / 2, kBytes / 2 + 1, byte_type()));
}

inline SharedFile& sized(SharedFile& file, i64 bytes) {
  file.bytes.resize(static_cast<size_t>(bytes));
  return file;
}

inline void expect_blocks(const SharedFile& file, i64 accesses, i64 bytes) {
  ASSERT_EQ(std::ssize(file.bytes), accesses * kRanks * bytes);
  for (i64 at = 0; at < std::ssize(file.bytes); ++at) ASSERT_EQ(static_cast<i64>(file.bytes[static_cast<size_t>(at)]), at / bytes + 1) << at;
}

struct StorageEvents final : TraceSink {
  void record(const TraceEvent& event) override {
    if (event.kind == TraceKind::kPlan) plan = event.detail;
    if (event.kind != TraceKind::kStorageRead && event.kind != TraceKind::kStorageWrite) return;
    bytes += event.bytes, pieces += event.pieces, ++requests;
    EXPECT_LE(event.start_ns, event.end_ns);
  }
  std::string plan;
  i64 bytes = 0, pieces = 0, requests = 0;
};

}  // namespace mercutio::testing
