#include "comm/slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace mercutio {
namespace {

Result<Slots::Range> alone(i64 mine) { return Slots::Range{mine, mine}; }
Result<Slots::Range> never(i64) { return Error{ErrorClass::kIntern, "nothing is to be agreed yet"}; }

TEST(Slots, NewOnesInTurnWithoutAMessage) {
  Slots slots(3);
  for (i64 i = 0; i < 3; ++i) {
    const auto slot = slots.take(never);
    ASSERT_TRUE(slot.ok());
    EXPECT_EQ(slot->number, i);
    EXPECT_TRUE(slot->is_new);
    slots.give_back(i);
  }
  EXPECT_FALSE(slots.take(never).ok());
}

TEST(Slots, WhatAnOpenFileHasIsPassedBy) {
  Slots slots(4);
  for (i64 i = 0; i < 4; ++i) ASSERT_TRUE(slots.take(alone).ok());
  for (i64 i : {0, 2, 3}) slots.give_back(i);   // 1 stays open
  std::vector<i64> got;
  for (i64 i = 0; i < 6; ++i) {
    const auto slot = slots.take(alone);
    ASSERT_TRUE(slot.ok());
    EXPECT_FALSE(slot->is_new);
    got.push_back(slot->number);
    slots.give_back(slot->number);
  }
  EXPECT_EQ(got, (std::vector<i64>{0, 2, 3, 0, 2, 3}));
}

TEST(Slots, ErrorWhereAllAreTaken) {
  Slots slots(2);
  ASSERT_TRUE(slots.take(alone).ok() && slots.take(alone).ok());
  EXPECT_EQ(slots.take(alone).error().cls, ErrorClass::kNoMem);
  slots.give_back(1);
  EXPECT_EQ(slots.take(alone).value().number, 1);
}

// Two ranks whose open files differ, a thread each.
TEST(Slots, RanksAgreeThoughOneStillHasAFileOpen) {
  constexpr i64 kCount = 5;
  Slots early(kCount), late(kCount);
  for (i64 i = 0; i < kCount; ++i) ASSERT_TRUE(early.take(alone).ok() && late.take(alone).ok());
  for (i64 i : {0, 1, 3}) early.give_back(i);
  for (i64 i : {1, 3, 4}) late.give_back(i);   // 0 is still open there, and 4 no longer
  i64 words[2] = {}, turn[2] = {};
  std::atomic<i64> arrived{0};
  const auto reduce = [&](int rank) {
    return [&, rank](i64 mine) -> Result<Slots::Range> {
      words[rank] = mine;
      ++turn[rank];
      ++arrived;
      while (arrived.load() < 2 * turn[rank]) std::this_thread::yield();
      const Slots::Range range{std::min(words[0], words[1]), std::max(words[0], words[1])};
      ++arrived;   // both have read
      ++turn[rank];
      while (arrived.load() < 2 * turn[rank]) std::this_thread::yield();
      return range;
    };
  };
  std::vector<i64> a, b;
  const auto use = [&](Slots& slots, std::vector<i64>& got, int rank) {
    for (int i = 0; i < 3; ++i) {
      const auto slot = slots.take(reduce(rank));
      got.push_back(slot ? slot->number : -1);
    }
  };
  std::thread other([&] { use(late, b, 1); });
  use(early, a, 0);
  other.join();
  EXPECT_EQ(a, (std::vector<i64>{1, 3, -1}));
  EXPECT_EQ(b, a);
}

}  // namespace
}  // namespace mercutio
