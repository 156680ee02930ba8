#include "insight/covered_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace mercutio {
namespace {

TEST(CoveredTime, WhatOverlapsCountsOnce) {
  CoveredTime time;
  EXPECT_EQ(time.add(0, 10), 10);
  EXPECT_EQ(time.add(5, 12), 2);
  EXPECT_EQ(time.add(20, 30), 10);
  EXPECT_EQ(time.add(0, 31), 9) << "the gap, and the end";
  EXPECT_EQ(time.add(3, 31), 0);
  EXPECT_EQ(time.add(31, 31), 0);
  EXPECT_EQ(time.add(40, 35), 0);
}

// Accesses of a few threads come by their ends; where two threads tell of theirs in another order, it is near.
TEST(CoveredTime, IsThatOfAllTogether) {
  std::mt19937 random(7);
  const auto up_to = [&](i64 most) { return static_cast<i64>(random() % static_cast<std::uint32_t>(most + 1)); };
  for (int round = 0; round < 100; ++round) {
    CoveredTime time;
    std::vector<bool> covered(20'000, false);
    i64 sum = 0, end = 50;
    while (end < 19'000) {
      end += up_to(60);
      const i64 late = round % 2 == 0 ? 0 : up_to(3), begin = std::max<i64>(0, end - late - up_to(300));
      sum += time.add(begin, end - late);
      for (i64 at = begin; at < end - late; ++at) covered[static_cast<std::size_t>(at)] = true;
    }
    const i64 truth = std::count(covered.begin(), covered.end(), true);
    EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(truth), round % 2 == 0 ? 0 : 0.01 * static_cast<double>(truth)) << round;
  }
}

// One that began before thousands of others counts for the gaps between them.
TEST(CoveredTime, ReachesBackAnyDistance) {
  CoveredTime time;
  i64 sum = 0;
  for (i64 i = 0; i < 5000; ++i) sum += time.add(10 * i, 10 * i + 7);
  EXPECT_EQ(sum, 35'000);
  EXPECT_EQ(time.add(0, 50'000), 15'000);
  CoveredTime other;
  for (i64 i = 0; i < 5000; ++i) (void)other.add(10 * i, 10 * i + 7);
  EXPECT_NEAR(static_cast<double>(other.add(25'000, 50'000)), 7'500, 20) << "of the part that it reaches";
}

}  // namespace
}  // namespace mercutio
