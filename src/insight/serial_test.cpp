// What a rank that does all the I/O costs.
#include <gtest/gtest.h>

#include <algorithm>

#include "insight/findings.h"
#include "insight/job_for_tests.h"

namespace mercutio {
namespace {

// Only what others could do of it is charged, and that their data comes to a rank that writes. That others have the cores is not due to it.
TEST(Findings, SerialAccessCostsWhatParallelAccessSaves) {
  const auto reading = [](i64 hosts, i64 ns) {
    Job job = job_with(4, [ns](i64 rank, FileTotals& f) {
      if (rank == 0) calls(f.of(Direction::kRead, false), 100, 10 * MiB, ns);
      if (rank != 0) f.close_ns = f.late_opening_ns = ns;
    });
    job.hosts = hosts;
    return seconds_of(job, "serial");
  };
  EXPECT_NEAR(reading(1, 2 * kSecond), 1, 0.01);
  EXPECT_NEAR(reading(2, 2 * kSecond), 1.5, 0.01);
  Job writing = job_with(4, [](i64 rank, FileTotals& f) {
    if (rank == 0) calls(f.of(Direction::kWrite, false), 100, 10 * MiB, 2 * kSecond);
  });
  EXPECT_NEAR(seconds_of(writing, "serial"), 1 + 0.75 * 1000 * MiB * 2 / 4e9, 0.01);
  writing.cores = {kSecond, 9 * kSecond, 1'000'000'000};
  writing.host_cores = 4;
  EXPECT_NEAR(seconds_of(writing, "serial"), 1 + 0.75 * 1000 * MiB * 2 / 4e9, 0.01);
  writing.host_cores = 2;
  EXPECT_NEAR(seconds_of(writing, "serial"), 1 + 0.75 * 1000 * MiB * 4 / 4e9, 0.01) << "two ranks a core, which copy in turns";
  writing.hosts = 2;
  EXPECT_NEAR(seconds_of(writing, "serial"), 1.5 + 0.75 * 1000 * MiB / 1e9, 0.01);
  EXPECT_EQ(first_of(job_with(4, [](i64 rank, FileTotals& f) {
              if (rank == 0) calls(f.of(Direction::kRead, false), 100, 10 * MiB, kSecond / 2);
            })), "") << "it reads little of the time";
}

// The data of one call may have come to the rank before its first one, that of the others between the calls.
TEST(Findings, DataIsOnlyCollectedWhereThereIsTimeForIt) {
  const auto writing = [](i64 pause, i64 in_other_file) {
    return seconds_of(job_of_files(4, 2, [=](i64 rank, i64 file, FileTotals& f) {
      if (file == 0 && rank != 2) return void(f = FileTotals());
      if (file == 0) {
        f.ranks = 1;
        calls(f.of(Direction::kWrite, false), 40, 64 * MiB, kSecond);
        f.first_ns = 1, f.last_ns = 1 + kSecond + pause;
      } else {
        calls(f.of(Direction::kWrite, true), 8, 64 * KiB, rank == 2 ? 1 + in_other_file : kSecond);
        if (rank != 2) f.of(Direction::kWrite, true).phase_ns[static_cast<std::size_t>(Phase::kArrive)] = kSecond;
      }
    }, "out.", false), "serial");
  };
  const double of_a_call = 0.75 * 64 * MiB * 2 / 4e9;
  EXPECT_NEAR(writing(0, 0), 0.5 + of_a_call, 0.01);
  EXPECT_NEAR(writing(kSecond / 4, 0), 0.75 + of_a_call, 0.01);
  EXPECT_NEAR(writing(kSecond / 4, kSecond / 4), 0.5 + of_a_call, 0.01) << "it wrote another file meanwhile";
  EXPECT_NEAR(writing(8 * kSecond, 0), 0.5 + 40 * of_a_call, 0.01);
}

// All ranks make collective calls, but one has all the data in them.
TEST(Findings, OneRankMayHaveAllTheDataOfCollectiveCalls) {
  const auto writing = [](i64 bytes_of_others) {
    return seconds_of(job_with(2, [=](i64 rank, FileTotals& f) {
      ClassTotals& writes = f.of(Direction::kWrite, true);
      calls(writes, 6, rank == 0 ? 256 * MiB : bytes_of_others, 3 * kSecond);
      writes.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = rank == 0 ? kSecond : 2 * kSecond;
    }), "serial");
  };
  EXPECT_NEAR(writing(1000), 1, 0.01) << "two ranks share the 2 s in which nobody is late";
  EXPECT_EQ(writing(128 * MiB), -1);
}

}  // namespace
}  // namespace mercutio
