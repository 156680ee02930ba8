// What ranks wait for each other: which part of it is due to their I/O, and which to what else they do.
#include <gtest/gtest.h>

#include <algorithm>

#include "insight/findings.h"
#include "insight/job_for_tests.h"

namespace mercutio {
namespace {

std::string first_of(const Job& job) {
  const std::vector<Finding> found = find_causes(job);
  return found.empty() ? "" : found[0].id;
}

double seconds_of(const Job& job, const std::string& id) {
  const std::vector<Finding> all = all_findings(job);
  const auto found = std::find_if(all.begin(), all.end(), [&id](const Finding& one) { return one.id == id; });
  return found == all.end() ? -1 : found->seconds;
}

// Ranks whose calls take them different times wait for each other in the next open, close or sync: that is due to the calls.
TEST(Findings, WaitingInTheNextCollectiveCallBecauseOfTheCallsIsTheirs) {
  const auto waiting = [](double late, bool in_sync) {
    return seconds_of(job_with(4, [=](i64 rank, FileTotals& f) {
      calls(f.of(Direction::kWrite, false), 100'000, 64, (rank == 2 ? 7 : 5) * kSecond);
      f.first_ns = 1, f.last_ns = 1 + 10 * kSecond;
      (in_sync ? f.sync_ns : f.close_ns) = (rank == 2 ? 1 : 3) * kSecond;
      (in_sync ? f.late_sync_ns : f.late_opening_ns) = static_cast<i64>((rank == 2 ? late : 2 + late) * kSecond);
    }), "small_writes");
  };
  for (const bool in_sync : {false, true}) {
    EXPECT_NEAR(waiting(0, in_sync), 7 + 2 * 0 / 7.0, 0.05) << "the slowest does not wait";
    EXPECT_NEAR(waiting(0.8, in_sync), 7 + 0.8 * 7 / (10 - 1), 0.02) << "as far as the calls fill the time between";
  }
}

// What a read takes because of holes, others wait for.
TEST(Findings, WaitingForReadsOfHolesIsTheirs) {
  const auto cost = [](i64 close_ns) {
    return seconds_of(job_with(4, [=](i64, FileTotals& f) {
      calls(f.of(Direction::kRead, false), 10, MiB, 5 * kSecond);
      f.storage[0].calls = 10, f.storage[0].bytes = f.hole_bytes = 100 * MiB, f.storage[0].ns = 5 * kSecond;
      f.first_ns = 1, f.last_ns = 1 + 10 * kSecond;
      f.closes = 10, f.close_ns = f.late_opening_ns = close_ns;
    }), "amplified_reads");
  };
  EXPECT_NEAR(cost(kSecond) - cost(1), 5.0 / 9, 0.02);
}

// What the others wait for the rank that does the I/O is not due to its work.
TEST(Findings, ARankThatIsLateForItsIoIsNoStraggler) {
  const auto waiting = [](double io) {
    return seconds_of(job_with(4, [io](i64 rank, FileTotals& f) {
      f.opens = f.closes = 1;
      if (rank == 1) calls(f.of(Direction::kWrite, false), 100, MiB, static_cast<i64>(io * kSecond));
      if (rank != 1) f.close_ns = f.late_opening_ns = 4 * kSecond;
    }), "straggler");
  };
  EXPECT_EQ(seconds_of(job_with(4, [](i64 rank, FileTotals& f) {   // rank 0 makes the files, and leaves later
              f.opens = f.closes = 100, f.open_ns = 2 * kSecond, f.late_opening_ns = rank == 0 ? 0 : kSecond;
            }), "straggler"), -1);
  EXPECT_EQ(waiting(4), -1);
  EXPECT_NEAR(waiting(1), 3 * 0.75, 0.01);
}

// In a collective open, close or sync the others wait for the rank that comes last. That is the work of that rank.
TEST(Findings, WaitingForALateRankIsNotOpeningOrSynchronising) {
  const auto with_late = [](bool syncs) {
    return job_with(4, [=](i64 rank, FileTotals& f) {
      const i64 late = rank == 3 ? 0 : 4 * kSecond, own = kSecond / 20;
      if (syncs) f.syncs = 100, f.sync_ns = own + late, f.late_sync_ns = late;
      if (!syncs) f.opens = f.closes = 100, f.reopens = 99, f.open_ns = own + late, f.late_opening_ns = late, f.close_ns = own;
    });
  };
  for (const bool syncs : {false, true}) {
    const std::vector<Finding> found = find_causes(with_late(syncs));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].id, "straggler");
    EXPECT_NEAR(found[0].seconds, 4 * 0.75, 0.01);
    EXPECT_NE(found[0].remedies[0].text.find("rank 3"), std::string::npos);
    EXPECT_NEAR(seconds_of(with_late(syncs), syncs ? "many_syncs" : "reopened"), (syncs ? 0.05 : 0.1) * 0.99, 0.005);
    EXPECT_NE(verdict(with_late(syncs)).find("waiting for late ranks 9"), std::string::npos) << verdict(with_late(syncs));
  }
}

// Then all ranks wait equally long, unless I/O explains it, or that others have the cores.
TEST(Findings, RanksThatAreLateInTurnsAreFound) {
  const auto waiting = [](i64 own, i64 queued) {
    Job job = job_with(4, [own](i64, FileTotals& f) {
      ClassTotals& reads = f.of(Direction::kRead, true);
      calls(reads, 20, MiB, 3 * kSecond + own);
      reads.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = 3 * kSecond;
    });
    job.cores = {40 * kSecond, 4 * queued, 1000};
    return job;
  };
  ASSERT_EQ(first_of(waiting(kSecond / 10, 0)), "straggler");
  const Finding found = find_causes(waiting(kSecond / 10, 0))[0];
  EXPECT_NEAR(found.seconds, 2.9, 0.01);
  EXPECT_NE(found.evidence.find("another one each time"), std::string::npos);
  EXPECT_EQ(seconds_of(waiting(3 * kSecond, 0), "straggler"), -1);
  EXPECT_EQ(seconds_of(waiting(kSecond / 10, 3 * kSecond), "straggler"), -1);
}

TEST(Findings, OnlyThoseThatWaitLongAreSaidToWait) {
  const Job job = job_with(4, [](i64 rank, FileTotals& f) {
    ClassTotals& writes = f.of(Direction::kWrite, true);
    calls(writes, 10, MiB, rank < 2 ? kSecond / 10 : 3 * kSecond);
    writes.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = rank == 0 ? 1000 : rank == 1 ? 2000 : 3 * kSecond;
  });
  ASSERT_EQ(first_of(job), "straggler");
  EXPECT_NE(find_causes(job)[0].evidence.find("2 of 4 ranks wait 3.0 s each for others, among them rank 0"), std::string::npos)
      << find_causes(job)[0].evidence;
}

// All ranks make as many small writes; one is late for another reason.
TEST(Findings, SmallAccessesAreNotChargedWithWhatMakesARankLate) {
  const auto small_and_late = [](i64 of_late, i64 of_others) {
    return job_with(4, [=](i64 rank, FileTotals& f) {
      calls(f.of(Direction::kWrite, false), 10'000, 64, rank == 3 ? of_late : of_others);
      ClassTotals& together = f.of(Direction::kWrite, true);
      const i64 waits = rank == 3 ? 0 : 4 * kSecond;
      calls(together, 10, MiB, kSecond / 100 + waits);
      together.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = waits;
      f.first_ns = 0;
      f.last_ns = together.ns + (rank == 3 ? of_late + 4 * kSecond : of_others);
    });
  };
  const Job job = small_and_late(kSecond / 2, kSecond / 2);
  EXPECT_EQ(first_of(job), "straggler");
  EXPECT_LT(seconds_of(job, "small_writes"), 0.6);
  EXPECT_GT(seconds_of(small_and_late(3 * kSecond, kSecond / 2), "small_writes"), 2.5) << "it is late because of them";
}

}  // namespace
}  // namespace mercutio
