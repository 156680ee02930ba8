// Early moves, and accesses in which some rank is an exception.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <tuple>

#include "engine/one_rank_test.h"

namespace mercutio {
namespace {

using namespace mercutio::testing;

// Accesses that the ranks move early when they have been repeated: as runs, by a plan that has each rank move its own data, or that on two nodes.
enum class Repeated { kRuns, kPlan, kPlanOnNodes };
class EarlyMoves : public ::testing::TestWithParam<std::tuple<Direction, Repeated>> {
 protected:
  static constexpr i64 kLong = RunLimits::kShortBytes + 2;   // a run that is not led
  Direction direction() const { return std::get<0>(GetParam()); }
  bool own() const { return std::get<1>(GetParam()) != Repeated::kRuns; }
  Hints hints() const {
    Hints hints;
    if (own()) hints.mercutio_strategy = WantedStrategy::kIndividual;
    return hints;
  }
  i64 first_early() const {
    return (direction() == Direction::kRead ? PatternMemory::kReadsBeforeEarly : PatternMemory::kWritesBeforeEarly) + (own() ? 1 : 0);
  }
  i64 special() const { return first_early() + 2; }   // the access in which some rank is an exception
  // `action` is called on each rank.
  void on_ranks(const std::function<void(OneRank&, i64)>& action) {
    sized(file_, (special() + 10) * kRanks * kLong);
    run_ranks(kRanks, [&](Comm& comm) {
      OneRank rank(comm, file_, hints());
      rank.permit_early_moves();
      action(rank, comm.rank());
    }, std::get<1>(GetParam()) == Repeated::kPlanOnNodes ? Topology{{0, 1, 1, 0}, {"a", "b"}} : Topology{});
  }
  // The bytes moved, of the access with this number.
  Result<i64> move(OneRank& rank, i64 number_of_rank, i64 number, Status entry = ok_status()) {
    OwnedAccess owned = run_of_rank(direction(), number_of_rank, number, kLong);
    Result<i64> moved = rank.move(owned, std::move(entry));
    if (moved && direction() == Direction::kRead) {
      EXPECT_TRUE(read_is_right(owned, file_.bytes, *moved)) << number;
    }
    return moved;
  }
  // As many bytes, by memory with a gap; or where a plan has each rank move its own, in another direction than the others: those of the access before.
  Result<i64> move_differently(OneRank& rank, i64 me, i64 number) {
    OwnedAccess gap = block_of(direction(), me, number, kLong, make_vector(2, kLong / 2, kLong / 2 + 1, byte_type()));
    Result<i64> moved = own() ? move(rank, me, number - 1) : rank.move(gap);
    if (!own() || direction() == Direction::kRead) return moved;
    std::lock_guard lock(file_.mutex);   // what expect_written() expects
    std::fill_n(file_.bytes.begin() + (number * kRanks + me) * kLong, kLong, static_cast<std::byte>(number * kRanks + me + 1));
    return moved;
  }
  // Waits until the ranks have made that many calls of the storage. False: they don't.
  bool become(i64 calls) const {
    for (int ms = 0; file_.calls < calls && ms < 10'000; ++ms) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return file_.calls == calls;
  }
  void expect_written(i64 accesses) {
    if (direction() == Direction::kRead) return;
    file_.bytes.resize(static_cast<size_t>(accesses * kRanks * kLong));
    expect_blocks(file_, accesses, kLong);
  }
  i64 calls(OneRank& rank) const { return direction() == Direction::kRead ? rank.storage().counts.reads : rank.storage().counts.writes; }
  SharedFile file_;
};
INSTANTIATE_TEST_SUITE_P(Ways, EarlyMoves, ::testing::Combine(::testing::Values(Direction::kWrite, Direction::kRead),
                                                                ::testing::Values(Repeated::kRuns, Repeated::kPlan, Repeated::kPlanOnNodes)));

TEST_P(EarlyMoves, HeedNewHintsInTheNextAccess) {
  on_ranks([&](OneRank& rank, i64 me) {
    rank.let_all_wait_at_once();
    for (i64 number = 0; number < special() + 3; ++number) {
      if (number == special()) {
        Hints exchanging;
        exchanging.romio_cb_write = exchanging.romio_cb_read = Toggle::kEnable;
        rank.change(exchanging);
      }
      const Result<i64> moved = move(rank, me, number);
      ASSERT_EQ(moved ? *moved : -1, kLong);
      EXPECT_EQ(rank.counters().copied_bytes > 0, number >= special()) << number;
    }
  });
  expect_written(special() + 3);
}

TEST_P(EarlyMoves, DoNotWaitForALateRank) {
  const i64 accesses = first_early() + 3;
  on_ranks([&](OneRank& rank, i64 me) {
    for (i64 number = 0; number < accesses; ++number) {
      if (me == 2 && number >= first_early()) {
        EXPECT_TRUE(become(number * kRanks + kRanks - 1)) << number;
      }
      const Result<i64> moved = move(rank, me, number);
      ASSERT_EQ(moved ? *moved : -1, kLong);
      EXPECT_EQ(calls(rank), number + 1);
    }
  });
  expect_written(accesses);
}

// The ranks agree on the Error. Those that had moved their data have moved it again by then.
TEST_P(EarlyMoves, FailOnAllRanks) {
  on_ranks([&](OneRank& rank, i64 me) {
    for (i64 number = 0; number < special() + 2; ++number) {
      if (me == 1 && number == special()) rank.storage().fail_at = rank.storage().counts.operations, rank.storage().fail_times = 2;
      const Result<i64> moved = move(rank, me, number);
      ASSERT_EQ(moved.ok(), number != special()) << number;
      if (!moved) {
        EXPECT_EQ(moved.error().cls, direction() == Direction::kWrite ? ErrorClass::kNoSpace : ErrorClass::kIo);
      }
    }
  });
}

TEST_P(EarlyMoves, FailOnAllRanksIfOneRankHasFailedBefore) {
  on_ranks([&](OneRank& rank, i64 me) {
    for (i64 number = 0; number < special() + 2; ++number) {
      Status entry = number == special() && me == 3 ? Status(Error{ErrorClass::kArg, "failed on purpose"}) : ok_status();
      const Result<i64> moved = move(rank, me, number, std::move(entry));
      ASSERT_EQ(moved.ok(), number != special()) << number;
      if (!moved) {
        EXPECT_EQ(moved.error().cls, ErrorClass::kArg);
      }
    }
  });
}

// What the ranks do together follows what one of them has done alone before: then the data is moved after they have met, and the time after.
// Of writes, each time from then on.
TEST_P(EarlyMoves, EndWhereARankAccessesTheFileAlone) {
  const i64 accesses = special() + 6;
  on_ranks([&](OneRank& rank, i64 me) {
    for (i64 number = 0; number < accesses; ++number) {
      const bool alone = number == special() || number == special() + 4;
      if (alone && me == 1) rank.access_alone();
      const i64 before = calls(rank);
      const Result<i64> moved = move(rank, me, number);
      ASSERT_EQ(moved ? *moved : -1, kLong);
      const bool twice = alone && me != 1 && (number == special() || direction() == Direction::kRead);
      EXPECT_EQ(calls(rank) - before, twice ? 2 : 1) << number;
    }
  });
  expect_written(accesses);
}

// One rank moves other data. The others move theirs again, as all then agree on how.
TEST_P(EarlyMoves, AreRepeatedWhereOneRankMovesDifferently) {
  const i64 accesses = special() + 4;
  on_ranks([&](OneRank& rank, i64 me) {
    for (i64 number = 0; number < accesses; ++number) {
      const Result<i64> moved = number == special() && me == 2 ? move_differently(rank, me, number) : move(rank, me, number);
      ASSERT_EQ(moved ? *moved : -1, kLong);
    }
  });
  expect_written(accesses);
}

// The same where one rank moves its data otherwise in the access before which another one has accessed the file alone.
TEST_P(EarlyMoves, EndWhereARankAccessesTheFileAloneAndOneMovesDifferently) {
  const i64 again = special() + (direction() == Direction::kRead ? 6 : 2 * PatternMemory::kWritesBeforeEarly), accesses = again + 2;
  on_ranks([&](OneRank& rank, i64 me) {
    for (i64 number = 0; number < accesses; ++number) {
      const bool both = number == special();
      if (me == 1 && (both || number == again)) rank.access_alone();
      const i64 before = calls(rank);
      const Result<i64> moved = both && me == 2 ? move_differently(rank, me, number) : move(rank, me, number);
      ASSERT_EQ(moved ? *moved : -1, kLong);
      const bool early = me != 1 && number == again && direction() == Direction::kRead;
      if (both) continue;
      EXPECT_EQ(calls(rank) - before, early ? 2 : 1) << number;
    }
  });
  expect_written(accesses);
}

// The same where rank 0 would write the bytes of all then: it needs those of the ranks that have moved early, too.
TEST_P(EarlyMoves, AreRepeatedWhereTheBytesAreFewNow) {
  on_ranks([&](OneRank& rank, i64 me) {
    for (i64 number = 0; number < special() + 3; ++number) {
      if (number == special() && me == 1) rank.access_alone();
      OwnedAccess owned = run_of_rank(direction(), me, number, number < special() ? kLong : kBytes);
      const Result<i64> moved = rank.move(owned);
      ASSERT_EQ(moved ? *moved : -1, owned.access.bytes);
    }
  });
  if (direction() == Direction::kRead) return;
  for (i64 at = special() * kRanks * kBytes; at < (special() + 3) * kRanks * kBytes; ++at) ASSERT_EQ(static_cast<i64>(file_.bytes[static_cast<size_t>(at)]), at / kBytes + 1) << at;
}

// While some rank comes late, the others wait for its arrival, although their data has been moved. What they wait for a slow rank is no such wait.
// A rank that gets no processor is late or slow, too: then again.
TEST_P(EarlyMoves, TellLateRanksFromSlowOnes) {
  constexpr i64 kNs = 40'000'000;
  for (const bool slow : {false, true}) {
    bool told = false;
    for (int attempt = 0; attempt < 10 && !told; ++attempt) {
      std::atomic<i64> about_to_call{0}, told_by{0};   // of the ranks other than 2
      on_ranks([&](OneRank& rank, i64 me) {
        StorageEvents sink;
        if (me != 2) rank.trace_to(&sink);
        for (i64 number = 0; number < special(); ++number) ASSERT_TRUE(move(rank, me, number).ok());
        if (me != 2) ++about_to_call;
        while (me == 2 && about_to_call < kRanks - 1) std::this_thread::yield();
        if (me == 2 && slow) rank.storage().delay = std::chrono::nanoseconds(kNs);
        if (me == 2 && !slow) std::this_thread::sleep_for(std::chrono::nanoseconds(kNs));
        ASSERT_TRUE(move(rank, me, special()).ok());
        const auto of = [&](Phase phase) { return rank.counters().clock.spent()[static_cast<size_t>(phase)]; };
        const i64 right = of(slow ? Phase::kAgree : Phase::kArrive), wrong = of(slow ? Phase::kArrive : Phase::kAgree);
        if (me != 2 && right >= kNs / 2 && wrong < right) ++told_by;
      });
      told = told_by == kRanks - 1;
    }
    EXPECT_TRUE(told) << (slow ? "slow" : "late");
  }
}

}  // namespace
}  // namespace mercutio
