// The costs of collective accesses in which each rank has one run, or which repeat an earlier one at another offset, and accesses that must not be
// taken for such.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include "base/frames.h"
#include "comm/in_process.h"
#include "engine/node_entry.h"
#include "engine/runs.h"
#include "engine/test_support.h"

namespace {
thread_local long allocations = 0;
}  // namespace

// Counts the allocations of the whole program.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* const taken = std::malloc(bytes > 0 ? bytes : 1)) return taken;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace mercutio {
namespace {

using namespace mercutio::testing;

constexpr i64 kRanks = 4, kBytes = 64;

// One rank's file and its successive accesses.
class OneRank {
 public:
  OneRank(Comm& comm, SharedFile& file, Hints hints) : comm_(comm), storage_(file), hints_(std::move(hints)), arena_(NodeArena::of(comm)) {
    file_ = EngineFile{&storage_, &comm, &hints_, nullptr, &dirty_, true};
    file_.plans = &plans_;
    file_.patterns = &patterns_;
    file_.scattered = false;   // no rank's view has holes, so writes take no lock
    file_.hints_edition = 1;
  }

  Result<i64> move(OwnedAccess& owned, Status entry = ok_status()) {
    counters_ = Counters{};
    if (file_.trace) counters_.clock.start(now_ns());
    file_.counters = &counters_;
    const Channel channel{&comm_, 1, std::allocate_shared<Ticket>(FrameAllocator<Ticket>(), arena_)};
    CollectiveOptions options;
    options.entry = std::move(entry);
    const long allocated = allocations;
    const i64 frames = frames_taken();
    const auto backoff = [&](i64 spins) { comm_.backoff(spins); };
    const Pause pause = [&](i64 looks) { return backoff(looks), true; };
    std::optional<Result<i64>> at_once;
    const std::optional<IoPiece> mine = run_of(file_, owned.access, options);
    if (waits_at_once() && mine) {
      RunsAtOnce how{pause};
      at_once = move_run_at_once(file_, channel, owned.access.direction, *mine, how);
      options.declined = how.declined;
    }
    Result<i64> moved = at_once ? *std::move(at_once) : run(collective(file_, channel, owned.access, options), backoff);
    counters_.clock.stop();
    allocations_ = allocations - allocated;
    frames_ = frames_taken() - frames;
    return moved;
  }

  // Half of the ranks call move_run_at_once(), which the others don't notice.
  bool waits_at_once() const { return comm_.rank() % 2 == 1; }
  void trace_to(TraceSink* sink) { file_.trace = sink; }
  void change(Hints hints) {
    hints_ = std::move(hints);
    ++file_.hints_edition;
  }
  const Counters& counters() const { return counters_; }
  TestStorage& storage() { return storage_; }
  i64 allocated() const { return allocations_; }
  i64 frames() const { return frames_; }

 private:
  Comm& comm_;
  TestStorage storage_;
  Hints hints_;
  const std::shared_ptr<NodeArena> arena_;
  std::atomic<bool> dirty_{false};
  PlanCache plans_;
  PatternMemory patterns_;
  EngineFile file_;
  Counters counters_;
  i64 allocations_ = 0, frames_ = 0;
};

// One block per rank and access. The blocks of one access are adjacent. A block is a run, unless it lies in two pieces of memory.
OwnedAccess block_of(Direction direction, i64 rank, i64 number, i64 bytes, const TypeSpecRef& memory) {
  OwnedAccess owned = make_access(direction, make_view(0, byte_type()), (number * kRanks + rank) * bytes, bytes, memory);
  if (direction == Direction::kWrite) std::fill(owned.buffer.begin(), owned.buffer.end(), static_cast<std::byte>(number * kRanks + rank + 1));
  return owned;
}
OwnedAccess run_of_rank(Direction direction, i64 rank, i64 number, i64 bytes = kBytes) {
  return block_of(direction, rank, number, bytes, make_contiguous(bytes, byte_type()));
}
OwnedAccess block_of(Direction direction, i64 rank, i64 number) {
  return block_of(direction, rank, number, kBytes, make_vector(2, kBytes / 2, kBytes / 2 + 1, byte_type()));
}

SharedFile& sized(SharedFile& file, i64 bytes) {
  file.bytes.resize(static_cast<size_t>(bytes));
  return file;
}

// Eight accesses of each direction, in which each rank has one run. After two of them nothing is allocated.
template <class Check>
void expect_no_allocation(const Hints& hints, Check check) {
  for (const Direction direction : {Direction::kWrite, Direction::kRead}) {
    SharedFile file;
    sized(file, 8 * kRanks * kBytes);
    run_ranks(kRanks, [&](Comm& comm) {
      OneRank rank(comm, file, hints);
      for (i64 number = 0; number < 8; ++number) {
        OwnedAccess owned = run_of_rank(direction, comm.rank(), number);
        const Result<i64> moved = rank.move(owned);
        ASSERT_EQ(moved ? *moved : -1, kBytes);
        if (number < 2) continue;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)   // these see each frame's lifetime
        EXPECT_EQ(rank.allocated(), 0) << number;
#endif
        check(rank);
      }
    });
  }
}

TEST(RepeatedAccess, AllocatesNothingAndNeedsThreeTasks) {
  Hints hints;
  hints.mercutio_strategy = WantedStrategy::kIndividual;   // a plan, and no runs
  expect_no_allocation(hints, [](const OneRank& rank) {
    EXPECT_LE(rank.frames(), 3) << "collective, enter, agree";
    EXPECT_EQ(rank.counters().plans_reused, 1);
  });
}

TEST(RepeatedAccess, WritesAtTheNewOffset) {
  SharedFile file;
  run_ranks(kRanks, [&](Comm& comm) {
    OneRank rank(comm, file, {});
    for (const i64 number : {0, 1, 5, 3, 2, 4}) {
      OwnedAccess owned = block_of(Direction::kWrite, comm.rank(), number);
      ASSERT_TRUE(rank.move(owned).ok());
    }
  });
  ASSERT_EQ(std::ssize(file.bytes), 6 * kRanks * kBytes);
  for (i64 at = 0; at < std::ssize(file.bytes); ++at) ASSERT_EQ(static_cast<i64>(file.bytes[static_cast<size_t>(at)]), at / kBytes + 1);
}

// Rank 1 accesses the bytes of rank 0 as well. Values that all ranks must share must not be taken from memory then.
TEST(RepeatedAccess, IsNotAssumedIfOneRankMovesDifferently) {
  SharedFile file;
  sized(file, 8 * kRanks * kBytes);
  run_ranks(kRanks, [&](Comm& comm) {
    OneRank rank(comm, file, {});
    for (i64 number = 0; number < 3; ++number) {
      OwnedAccess owned = block_of(Direction::kWrite, comm.rank(), number);
      ASSERT_TRUE(rank.move(owned).ok());
      EXPECT_EQ(rank.counters().copied_bytes, 0);
    }
    OwnedAccess owned = block_of(Direction::kWrite, comm.rank() == 1 ? 0 : comm.rank(), 3);
    ASSERT_TRUE(rank.move(owned).ok());
    EXPECT_EQ(rank.counters().plans_reused, 0);
    EXPECT_EQ(rank.counters().copied_bytes, kBytes) << "ranges that overlap are exchanged";
  });
}

TEST(RepeatedAccess, IsNotAssumedUnderOtherHints) {
  SharedFile file;
  run_ranks(kRanks, [&](Comm& comm) {
    OneRank rank(comm, file, {});
    for (i64 number = 0; number < 6; ++number) {
      Hints hints;
      if (number >= 3) hints.mercutio_strategy = WantedStrategy::kTwoPhase;
      if (number == 3) rank.change(hints);
      OwnedAccess owned = block_of(Direction::kWrite, comm.rank(), number);
      ASSERT_TRUE(rank.move(owned).ok());
      EXPECT_EQ(rank.counters().copied_bytes, number >= 3 ? kBytes : 0) << number;
    }
  });
}

// One rank has failed before the access: no rank moves data, and all return its error. The next access is carried out.
TEST(RepeatedAccess, FailsOnAllRanksIfOneRankHasFailed) {
  SharedFile file;
  run_ranks(kRanks, [&](Comm& comm) {
    OneRank rank(comm, file, {});
    for (i64 number = 0; number < 6; ++number) {
      OwnedAccess owned = block_of(Direction::kWrite, comm.rank(), number);
      const bool fails = number == 3;
      Status entry = fails && comm.rank() == 2 ? Status(Error{ErrorClass::kArg, "failed on purpose"}) : ok_status();
      const Result<i64> moved = rank.move(owned, std::move(entry));
      ASSERT_EQ(moved.ok(), !fails) << number;
      if (fails) {
        ASSERT_EQ(moved.error().cls, ErrorClass::kArg);
      }
    }
  });
  ASSERT_EQ(std::ssize(file.bytes), 6 * kRanks * kBytes);
  for (i64 at = 0; at < kRanks * kBytes; ++at) ASSERT_EQ(static_cast<i64>(file.bytes[static_cast<size_t>(3 * kRanks * kBytes + at)]), 0);
}

// Ranks that expect to read without exchange do not ask for the file size. A following interleaved access must find the end of the
// file.
TEST(RepeatedAccess, FollowedByAnExchangeFindsTheEndOfTheFile) {
  constexpr i64 kFileBytes = 3 * kRanks * kBytes + 10;
  SharedFile file;
  Random random(1);
  file.bytes = random_bytes(random, kFileBytes);
  Hints hints;
  run_ranks(kRanks, [&](Comm& comm) {
    OneRank rank(comm, file, hints);
    for (i64 number = 0; number < 5; ++number) {
      OwnedAccess owned = block_of(Direction::kRead, comm.rank(), number);
      const Result<i64> moved = rank.move(owned);
      ASSERT_TRUE(moved && read_is_right(owned, file.bytes, *moved)) << number;
    }
    for (int time = 0; time < 3; ++time) {
      const auto type = make_resized(0, kRanks * 3, make_contiguous(3, byte_type()));
      OwnedAccess owned = make_access(Direction::kRead, make_view(comm.rank() * 3, type), 0, kFileBytes, make_contiguous(kFileBytes, byte_type()));
      const Result<i64> moved = rank.move(owned);
      ASSERT_TRUE(moved && read_is_right(owned, file.bytes, *moved)) << time;
    }
  });
}

void expect_blocks(const SharedFile& file, i64 accesses, i64 bytes) {
  ASSERT_EQ(std::ssize(file.bytes), accesses * kRanks * bytes);
  for (i64 at = 0; at < std::ssize(file.bytes); ++at) ASSERT_EQ(static_cast<i64>(file.bytes[static_cast<size_t>(at)]), at / bytes + 1) << at;
}

TEST(Runs, AllocateNothingAndNeedThreeTasks) {
  expect_no_allocation({}, [](const OneRank& rank) { EXPECT_LE(rank.frames(), rank.waits_at_once() ? 0 : 3) << "collective, move_runs, agree"; });
}

TEST(Runs, OfFewBytesAreMovedByTheFirstRankInOneCall) {
  for (const i64 bytes : {i64{1}, i64{8}, kBytes, RunAccess::kEntryBytes}) {
    SharedFile file;
    run_ranks(kRanks, [&](Comm& comm) {
      OneRank rank(comm, file, {});
      for (const i64 number : {0, 1, 5, 3, 2, 4}) {
        OwnedAccess owned = run_of_rank(Direction::kWrite, comm.rank(), number, bytes);
        ASSERT_TRUE(rank.move(owned).ok());
      }
      EXPECT_EQ(rank.storage().counts.writes, comm.rank() == 0 ? 6 : 0);
      for (const i64 number : {0, 5, 2}) {
        OwnedAccess owned = run_of_rank(Direction::kRead, (comm.rank() + 1) % kRanks, number, bytes);
        const Result<i64> moved = rank.move(owned);
        ASSERT_TRUE(moved && read_is_right(owned, file.bytes, *moved)) << number;
      }
      EXPECT_EQ(rank.storage().counts.reads, comm.rank() == 0 ? 3 : 0);
    });
    expect_blocks(file, 6, bytes);
  }
}

TEST(Runs, OfManyBytesAreMovedByTheirRanks) {
  constexpr i64 kMany = RunAccess::kEntryBytes + 1;
  SharedFile file;
  run_ranks(kRanks, [&](Comm& comm) {
    OneRank rank(comm, file, {});
    for (const i64 number : {1, 0, 2}) {
      OwnedAccess owned = run_of_rank(Direction::kWrite, comm.rank(), number, kMany);
      ASSERT_TRUE(rank.move(owned).ok());
    }
    EXPECT_EQ(rank.storage().counts.writes, 3);
  });
  expect_blocks(file, 3, kMany);
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

// Some ranks are looked at, others not. Rank 2 comes late.
void expect_to_see_runs(Direction direction, i64 bytes, bool led) {
  constexpr i64 kLateNs = 20'000'000, kAccesses = 3;
  SharedFile file;
  sized(file, kAccesses * kRanks * bytes);
  std::atomic<i64> begun{0};
  run_ranks(kRanks, [&](Comm& comm) {
    OneRank rank(comm, file, {});
    StorageEvents sink;
    const bool seen = comm.rank() != 3, moves = comm.rank() == 0 || !led;
    if (seen) rank.trace_to(&sink);
    for (i64 number = 0; number < kAccesses; ++number) {
      OwnedAccess owned = run_of_rank(direction, comm.rank(), number, bytes);
      begun += comm.rank() == 2 ? 0 : 1;
      while (comm.rank() == 2 && begun < (number + 1) * (kRanks - 1)) std::this_thread::yield();
      if (comm.rank() == 2) std::this_thread::sleep_for(std::chrono::nanoseconds(kLateNs));
      ASSERT_TRUE(rank.move(owned).ok());
      const auto of = [&](Phase phase) { return rank.counters().clock.spent()[static_cast<size_t>(phase)]; };
      if (seen && comm.rank() != 2) {
        EXPECT_GE(of(Phase::kArrive), kLateNs / 4) << "waiting for the late rank";
      }
      EXPECT_EQ(of(Phase::kStorage) > 0, seen && moves);
      EXPECT_EQ(of(Phase::kWait) > 0, seen && !moves) << "for the rank that moves the bytes";
      EXPECT_EQ(of(Phase::kAgree) > 0, seen && moves);
    }
    EXPECT_EQ(sink.plan.find("runs") != std::string::npos, seen);
    EXPECT_EQ(sink.requests, seen && moves ? kAccesses : 0);
    EXPECT_EQ(sink.pieces, sink.requests);
    EXPECT_EQ(sink.bytes, sink.requests * bytes * (led ? kRanks : 1));
    EXPECT_EQ(direction == Direction::kRead ? rank.storage().counts.reads : rank.storage().counts.writes, moves ? kAccesses : 0);
  });
}

TEST(Runs, AreSeenAsTheyAreMoved) {
  for (const Direction direction : {Direction::kWrite, Direction::kRead}) {
    expect_to_see_runs(direction, kBytes, /*led=*/true);
    expect_to_see_runs(direction, RunAccess::kEntryBytes + 1, /*led=*/false);
  }
}

// Ranges that are equal, overlap, are far apart, behind the end of the file, or empty.
TEST(Runs, AreReadWhereverTheyAre) {
  constexpr i64 kFileBytes = 1000;
  SharedFile file;
  Random random(1);
  file.bytes = random_bytes(random, kFileBytes);
  run_ranks(kRanks, [&](Comm& comm) {
    OneRank rank(comm, file, {});
    struct {
      i64 begin, distance, bytes, longer;   // of rank r: [begin + r * distance, + bytes + r * longer)
    } const cases[] = {{100, 0, 50, 0}, {100, 10, 50, 0}, {0, 300, 7, 0}, {950, 20, 40, 0}, {990, 0, 40, 5}, {2000, 8, 8, 0}, {500, -100, 30, 0}, {0, 16, 0, 1}, {40, 0, 0, 0}};
    for (const auto& one : cases) {
      const i64 bytes = one.bytes + comm.rank() * one.longer;
      OwnedAccess owned = make_access(Direction::kRead, make_view(0, byte_type()), one.begin + comm.rank() * one.distance, bytes, make_contiguous(bytes, byte_type()));
      const Result<i64> moved = rank.move(owned);
      ASSERT_TRUE(moved && read_is_right(owned, file.bytes, *moved)) << one.begin << " " << one.distance;
    }
  });
}

TEST(Runs, ThatOverlapAreNotWrittenSo) {
  SharedFile file;
  run_ranks(kRanks, [&](Comm& comm) {
    OneRank rank(comm, file, {});
    OwnedAccess owned = run_of_rank(Direction::kWrite, comm.rank() / 2, 0);
    ASSERT_TRUE(rank.move(owned).ok());
    EXPECT_EQ(rank.counters().copied_bytes, kBytes) << "ranges that overlap are exchanged";
  });
}

// After an access of another kind they are tried once more, also where the plan of each is that of the one before.
TEST(Runs, AreTriedAgainWhereAPatternRepeats) {
  for (const Direction direction : {Direction::kWrite, Direction::kRead}) {
    SharedFile file;
    sized(file, 6 * kRanks * kBytes);
    run_ranks(kRanks, [&](Comm& comm) {
      OneRank rank(comm, file, {});
      for (i64 number = 0; number < 6; ++number) {
        OwnedAccess owned = number == 0 ? block_of(direction, comm.rank(), number) : run_of_rank(direction, comm.rank(), number);
        ASSERT_TRUE(rank.move(owned).ok());
      }
      const auto& counts = rank.storage().counts;
      EXPECT_EQ(direction == Direction::kWrite ? counts.writes : counts.reads, comm.rank() == 0 ? 6 : 3);
    });
  }
}

// All ranks get the Error of the first one, which moves the bytes of all, and go on with the next access.
TEST(Runs, FailOnAllRanks) {
  for (const Direction direction : {Direction::kWrite, Direction::kRead}) {
    SharedFile file;
    sized(file, 4 * kRanks * kBytes);
    run_ranks(kRanks, [&](Comm& comm) {
      OneRank rank(comm, file, {});
      if (comm.rank() == 0) rank.storage().fail_at = 1;
      for (i64 number = 0; number < 4; ++number) {
        OwnedAccess owned = run_of_rank(direction, comm.rank(), number);
        const Result<i64> moved = rank.move(owned);
        ASSERT_EQ(moved.ok(), number != 1) << number;
        if (!moved) {
          EXPECT_EQ(moved.error().cls, direction == Direction::kWrite ? ErrorClass::kNoSpace : ErrorClass::kIo);
        }
      }
    });
  }
}

}  // namespace
}  // namespace mercutio
