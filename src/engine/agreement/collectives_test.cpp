#include "engine/agreement/collectives.h"

#include <gtest/gtest.h>

#include <cstring>

#include "comm/in_process.h"
#include "engine/agreement/messages.h"
#include "engine/test_support.h"

namespace mercutio {
namespace {

using namespace mercutio::testing;

TEST(Channels, HaveEqualOrDisjointTags) {
  for (const i64 tags : {3, 16, 64, 1024}) {
    for (i64 number = 0; number < 2 * tags; ++number) {
      const i64 tag = first_tag(number, tags);
      EXPECT_TRUE(tag >= 0 && tag % kTagsPerOperation == 0 && tag + kTagsPerOperation <= tags) << number << " of " << tags;
    }
  }
}

class Collectives : public ::testing::TestWithParam<i64> {};

TEST_P(Collectives, AllReduce) {
  run_ranks(GetParam(), [](Comm& comm) {
    const i64 n = comm.size(), r = comm.rank();
    i64 high[2] = {r, -r}, low[2] = {r, -r};
    ASSERT_TRUE(drive(comm, all_reduce({&comm, 3}, high, Reduce::kMax)).ok());
    ASSERT_TRUE(drive(comm, all_reduce({&comm, 3}, low, Reduce::kMin)).ok());
    EXPECT_EQ(high[0], n - 1);
    EXPECT_EQ(high[1], 0);
    EXPECT_EQ(low[0], 0);
    EXPECT_EQ(low[1], 1 - n);
  });
}

TEST_P(Collectives, AllGather) {
  run_ranks(GetParam(), [](Comm& comm) {
    const i64 mine[3] = {comm.rank(), comm.rank() * 10, 7};
    std::vector<i64> all(static_cast<size_t>(3 * comm.size()), -1);
    ASSERT_TRUE(drive(comm, all_gather({&comm, 0}, std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)))).ok());
    for (i64 r = 0; r < comm.size(); ++r) {
      EXPECT_EQ(all[static_cast<size_t>(3 * r)], r);
      EXPECT_EQ(all[static_cast<size_t>(3 * r + 1)], 10 * r);
      EXPECT_EQ(all[static_cast<size_t>(3 * r + 2)], 7);
    }
  });
}

TEST_P(Collectives, BroadcastFromEveryRoot) {
  run_ranks(GetParam(), [](Comm& comm) {
    for (i64 root = 0; root < comm.size(); ++root) {
      std::vector<std::byte> expected(static_cast<size_t>(root * 5000), std::byte(root));
      std::vector<std::byte> data(17);
      if (comm.rank() == root) data = expected;
      ASSERT_TRUE(drive(comm, broadcast({&comm, 2}, root, data)).ok());
      EXPECT_EQ(data, expected);
    }
  });
}

TEST_P(Collectives, AgreementReturnsTheErrorOfTheLowestFailingRank) {
  run_ranks(GetParam(), [](Comm& comm) {
    EXPECT_TRUE(drive(comm, agree({&comm, 4}, ok_status())).ok());
    const i64 culprit = comm.size() / 2;
    Status mine = ok_status();
    if (comm.rank() >= culprit) mine = Error{ErrorClass::kNoSpace, "disk full", 28, 100 + comm.rank(), 5};
    auto agreed = drive(comm, agree({&comm, 4}, mine));
    ASSERT_FALSE(agreed.ok());
    EXPECT_EQ(agreed.error().cls, ErrorClass::kNoSpace);
    EXPECT_EQ(agreed.error().sys_errno, 28);
    EXPECT_EQ(agreed.error().offset, 100 + culprit);
    EXPECT_EQ(agreed.error().bytes, 5);
    if (comm.size() > 1) {
      EXPECT_EQ(agreed.error().what, "disk full (rank " + std::to_string(culprit) + " on localhost)");
    }
  });
}

TEST_P(Collectives, SeveralInFlightOnTheirOwnTags) {
  run_ranks(GetParam(), [](Comm& comm) {
    i64 a = -comm.rank(), b = comm.rank(), mine = 2 * comm.rank();
    std::vector<i64> all(static_cast<size_t>(comm.size()));
    const Channel channels[] = {{&comm, 10}, {&comm, 11}, {&comm, 12}};   // they must outlive the tasks
    auto first = all_reduce(channels[0], std::span(&a, 1), Reduce::kMin);
    auto second = all_reduce(channels[1], std::span(&b, 1), Reduce::kMax);
    auto third = all_gather(channels[2], const_bytes_of(std::span(&mine, 1)), bytes_of(std::span(all)));
    bool done = false;
    for (i64 spins = 0; !done; ++spins) {
      // Ranks poll in different orders.
      done = comm.rank() % 2 ? first.step() & second.step() & third.step() : third.step() & second.step() & first.step();
      comm.backoff(spins);
    }
    EXPECT_EQ(a, 1 - comm.size());
    EXPECT_EQ(b, comm.size() - 1);
    for (i64 rank = 0; rank < comm.size(); ++rank) EXPECT_EQ(all[static_cast<size_t>(rank)], 2 * rank);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, ::testing::Values(1, 2, 3, 4, 5, 7));

}  // namespace
}  // namespace mercutio
