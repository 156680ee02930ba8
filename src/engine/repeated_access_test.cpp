// The costs of collective accesses in which each rank has one run, or which repeat an earlier one at another offset, and accesses that must not be
// taken for such.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>

#include "base/frames.h"
#include "engine/one_rank_test.h"

// Counts the allocations of the whole program.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++mercutio::testing::allocations;
  if (void* const taken = std::malloc(bytes > 0 ? bytes : 1)) return taken;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {   // ASan's would not fit to this delete
  ++mercutio::testing::allocations;
  return std::malloc(bytes > 0 ? bytes : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace mercutio {
namespace {

using namespace mercutio::testing;

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
        if (kKeepsFrames) {
          EXPECT_EQ(rank.allocated(), 0) << number;
        }
        check(rank);
      }
    });
  }
}

TEST(RepeatedAccess, AllocatesNothingAndNeedsFourTasks) {
  Hints hints;
  hints.mercutio_strategy = WantedStrategy::kIndividual;   // a plan, and no runs
  expect_no_allocation(hints, [](const OneRank& rank) {
    EXPECT_LE(rank.frames(), 4) << "collective, enter_and_move, enter, agree";
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

TEST(Runs, AllocateNothingAndNeedThreeTasks) {
  expect_no_allocation({}, [](const OneRank& rank) { EXPECT_LE(rank.frames(), rank.waits_at_once() ? 0 : 3) << "collective, move_runs, agree"; });
}

TEST(Runs, OfFewBytesAreWrittenByTheFirstRankInOneCall) {
  for (const i64 bytes : {i64{1}, i64{8}, kBytes, RunLimits::kShortBytes}) {
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
      EXPECT_EQ(rank.storage().counts.reads, 3);
    });
    expect_blocks(file, 6, bytes);
  }
}

TEST(Runs, OfManyRanksAreWrittenByTheFirstRankUpToTheSizeOfAnEntry) {
  constexpr i64 kMany = RunLimits::kFewRanks + 1, kLong = RunLimits::kMostLedBytes / kMany;
  static_assert(kLong > RunLimits::kShortBytes && kLong <= RunLimits::kEntryBytes);
  SharedFile file;
  run_ranks(kMany, [&](Comm& comm) {
    OneRank rank(comm, file, {});
    OwnedAccess owned = make_access(Direction::kWrite, make_view(0, byte_type()), comm.rank() * kLong, kLong, make_contiguous(kLong, byte_type()));
    std::fill(owned.buffer.begin(), owned.buffer.end(), static_cast<std::byte>(comm.rank() + 1));
    ASSERT_TRUE(rank.move(owned).ok());
    EXPECT_EQ(rank.storage().counts.writes, comm.rank() == 0 ? 1 : 0);
  });
  ASSERT_EQ(std::ssize(file.bytes), kMany * kLong);
  for (i64 at = 0; at < kMany * kLong; ++at) ASSERT_EQ(static_cast<i64>(file.bytes[static_cast<size_t>(at)]), at / kLong + 1);
}

TEST(Runs, OfManyBytesAreMovedByTheirRanks) {
  constexpr i64 kMany = RunLimits::kShortBytes + 1;
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

// Some ranks are looked at, others not. Rank 2 comes late. Whether those that wait for it see that they do.
bool see_runs(Direction direction, i64 bytes, bool led) {
  constexpr i64 kLateNs = 20'000'000, kAccesses = 3;
  SharedFile file;
  sized(file, kAccesses * kRanks * bytes);
  std::atomic<i64> begun{0};
  std::atomic<bool> waited{true};
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
      if (number == kAccesses - 1 && seen && comm.rank() != 2 && of(Phase::kArrive) < kLateNs / 4) waited = false;
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
  return waited;
}

// A rank that gets no processor comes late, too: then again.
void expect_to_see_runs(Direction direction, i64 bytes, bool led) {
  bool waited = false;
  for (int attempt = 0; attempt < 10 && !waited; ++attempt) waited = see_runs(direction, bytes, led);
  EXPECT_TRUE(waited) << "for the late rank";
}

TEST(Runs, AreSeenAsTheyAreMoved) {
  for (const Direction direction : {Direction::kWrite, Direction::kRead}) {
    expect_to_see_runs(direction, kBytes, /*led=*/direction == Direction::kWrite);
    expect_to_see_runs(direction, RunLimits::kEntryBytes + 1, /*led=*/false);
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
      if (direction == Direction::kWrite) {
        EXPECT_EQ(counts.writes, comm.rank() == 0 ? 6 : 3);
      } else {
        EXPECT_EQ(counts.reads, 6);
      }
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
