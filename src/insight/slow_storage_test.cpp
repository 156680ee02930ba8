// Storage that is slow for some ranks: who is named, what it costs, and what is no such thing.
#include <gtest/gtest.h>

#include "insight/findings.h"
#include "insight/job_for_tests.h"

namespace mercutio {
namespace {

void requests(FileTotals& f, i64 count, i64 bytes, i64 ns, std::size_t way = 1) {
  StorageTotals& part = f.storage[way];
  part.calls = part.pieces = count, part.bytes = part.span_bytes = count * bytes, part.ns = ns, part.longest_ns = ns / std::max<i64>(1, count);
}

void phase(ClassTotals& part, Phase which, i64 ns) { part.phase_ns[static_cast<std::size_t>(which)] = ns; }

// Ten requests of a mebibyte; rank 1 takes `slow_ns` for them, the others 10 ms.
void writes_alone(i64 rank, FileTotals& f, i64 slow_ns) {
  const i64 ns = rank == 1 ? slow_ns : kSecond / 100;
  calls(f.of(Direction::kWrite, false), 10, MiB, ns);
  phase(f.of(Direction::kWrite, false), Phase::kStorage, ns);
  requests(f, 10, MiB, ns);
}

Finding finding_of(const Job& job) {
  for (const Finding& one : all_findings(job)) {
    if (one.id == "slow_storage") return one;
  }
  return {};
}

// In collective accesses the others wait for it.
TEST(SlowStorage, OfOneRankIsFoundInCollectiveAccesses) {
  const Job job = job_with(4, [](i64 rank, FileTotals& f) {
    ClassTotals& writes = f.of(Direction::kWrite, true);
    calls(writes, 10, MiB, 4 * kSecond);
    phase(writes, Phase::kStorage, rank == 1 ? 4 * kSecond : kSecond / 100);
    phase(writes, Phase::kAgree, rank == 1 ? 0 : 4 * kSecond - kSecond / 100);
    requests(f, 10, MiB, rank == 1 ? 4 * kSecond : kSecond / 100);
  });
  const Finding found = finding_of(job);
  ASSERT_EQ(first_of(job), "slow_storage");
  EXPECT_NEAR(found.seconds, 3.99, 0.01);
  EXPECT_FALSE(found.at_most);
  EXPECT_NE(found.evidence.find("10 write requests of 1.0 MiB take 400 ms each, 400 times as long as those of the other ranks"), std::string::npos) << found.evidence;
  EXPECT_EQ(found.evidence.find("rank 1 on "), 0u) << found.evidence;
}

// They may wait where no call shows it, or in the next collective call.
TEST(SlowStorage, OfIndependentAccessesCostsWhatTheOthersAreSeenToWait) {
  const auto found = [](bool seen) {
    return finding_of(job_with(4, [seen](i64 rank, FileTotals& f) {
      writes_alone(rank, f, 4 * kSecond);
      f.opens = f.closes = 1;
      if (seen && rank != 1) f.close_ns = f.late_opening_ns = 4 * kSecond;
    }));
  };
  EXPECT_NEAR(found(true).seconds, 3.99, 0.01);
  EXPECT_FALSE(found(true).at_most);
  EXPECT_NEAR(found(false).seconds, 3.99, 0.01);
  EXPECT_TRUE(found(false).at_most);
}

TEST(SlowStorage, OfAllRanksOfANodeNamesTheNode) {
  Job job = job_with(4, [](i64 rank, FileTotals& f) {
    writes_alone(0, f, 0);
    if (rank >= 2) writes_alone(1, f, 2 * kSecond);
  });
  const auto with_hosts = [&job](i64 first_of_b) {
    std::vector<RankTrace> traces = job.traces;
    for (RankTrace& trace : traces) put_text(trace.header.host, trace.header.rank >= first_of_b ? "b" : "a");
    return finding_of(job_of(std::move(traces)));
  };
  EXPECT_EQ(with_hosts(2).evidence.find("ranks 2 and 3 on b"), 0u) << with_hosts(2).evidence;
  EXPECT_NE(with_hosts(2).remedies[0].text.find("check b: the mount"), std::string::npos) << with_hosts(2).remedies[0].text;
  EXPECT_NE(with_hosts(1).remedies[0].text.find("ranks 2 and 3: other jobs on b"), std::string::npos) << with_hosts(1).remedies[0].text;
}

TEST(SlowStorage, IsNotFoundWhereRequestsAreNotAlike) {
  const auto with = [](const std::function<void(i64, FileTotals&)>& change) {
    return seconds_of(job_with(4, [&](i64 rank, FileTotals& f) {
      calls(f.of(Direction::kWrite, false), 1, MiB, 5 * kSecond);
      change(rank, f);
    }), "slow_storage");
  };
  EXPECT_EQ(with([](i64 rank, FileTotals& f) { if (rank == 1) requests(f, 100, MiB, 5 * kSecond); }), -1) << "one aggregator";
  EXPECT_EQ(with([](i64 rank, FileTotals& f) { requests(f, 10, rank == 1 ? 100 * MiB : MiB, rank == 1 ? 5 * kSecond : kSecond / 20); }), -1) << "more data";
  EXPECT_EQ(with([](i64 rank, FileTotals& f) { requests(f, rank == 1 ? 1000 : 1, rank == 1 ? MiB / 1000 : MiB, rank == 1 ? 5 * kSecond : kSecond / 100); }), -1) << "in pieces";
  EXPECT_EQ(with([](i64 rank, FileTotals& f) { requests(f, 100, rank == 1 ? 10 * MiB : MiB, rank == 1 ? 5 * kSecond : kSecond / 100); }), -1) << "a cache took the others'";
  EXPECT_EQ(with([](i64 rank, FileTotals& f) { requests(f, 2, MiB, rank == 1 ? 5 * kSecond : kSecond / 100); }), -1) << "too few";
  EXPECT_EQ(with([](i64 rank, FileTotals& f) {
    requests(f, 100, MiB, rank == 1 ? 5 * kSecond : kSecond / 100);
    if (rank == 1) f.storage[1].longest_ns = 5 * kSecond - kSecond / 100;
  }), -1) << "one request was slow";
  EXPECT_EQ(with([](i64 rank, FileTotals& f) { requests(f, 100, MiB, rank == 1 ? 3 * kSecond : kSecond); }), -1) << "three times as slow";
  EXPECT_GT(with([](i64 rank, FileTotals& f) { requests(f, 100, MiB, rank == 1 ? 5 * kSecond : kSecond); }), 3.9);
}

TEST(SlowStorage, IsNoLackOfCores) {
  const auto queued = [](i64 ns) {
    Job job = job_with(4, [](i64 rank, FileTotals& f) { writes_alone(rank, f, 2 * kSecond); });
    job.traces[1].header.cores.queued_ns = ns;
    if (ns < 2 * kSecond) {
      EXPECT_NE(finding_of(job).evidence.find("take 200 ms each, 200 times as long"), std::string::npos) << finding_of(job).evidence;
    }
    return seconds_of(job, "slow_storage");
  };
  EXPECT_GT(queued(0), 1.9);
  EXPECT_NEAR(queued(kSecond), 1.6, 0.1) << "as far as it may have been meanwhile";
  EXPECT_EQ(queued(5 * kSecond), -1);
}

// The first one to read something reads it for all.
TEST(SlowStorage, IsNotWhatOneRankReadsIntoTheCacheOfAll) {
  const auto reading = [](bool same) {
    return seconds_of(job_with(4, [same](i64 rank, FileTotals& f) {
      ClassTotals& reads = f.of(Direction::kRead, false);
      calls(reads, 10, MiB, rank == 1 ? 3 * kSecond : kSecond / 100);
      reads.begin_place = 1 + (same ? 0 : rank * 10 * MiB), reads.end_place = reads.begin_place + 10 * MiB;
      requests(f, 10, MiB, reads.ns, 0);
    }), "slow_storage");
  };
  EXPECT_GT(reading(false), 2.9);
  EXPECT_EQ(reading(true), -1);
}

// A rank that waits for the slow one in other calls is as late: what makes both late is in the accesses.
TEST(SlowStorage, IsNoWorkBetweenAccesses) {
  const Job job = job_with(4, [](i64 rank, FileTotals& f) {
    writes_alone(rank, f, 4 * kSecond);
    f.opens = f.closes = 1;
    if (rank > 1) f.close_ns = f.late_opening_ns = 4 * kSecond;
  });
  EXPECT_EQ(seconds_of(job, "straggler"), -1);
  EXPECT_EQ(first_of(job), "slow_storage");
}

}  // namespace
}  // namespace mercutio
