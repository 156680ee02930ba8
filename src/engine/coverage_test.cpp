#include "engine/coverage.h"

#include <gtest/gtest.h>

#include <random>

namespace mercutio {
namespace {

TEST(Coverage, FindsBordersInAnEmptyAndAFullWindow) {
  Coverage c;
  c.reset(100);
  EXPECT_EQ(c.next_covered(0), 100);
  EXPECT_EQ(c.next_hole(0), 0);
  c.add(0, 100);
  EXPECT_EQ(c.next_covered(0), 0);
  EXPECT_EQ(c.next_hole(0), 100);
  c.reset(128);
  EXPECT_EQ(c.next_covered(0), 128);
}

TEST(Coverage, AgreesWithOneFlagPerByte) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const i64 bytes = 1 + static_cast<i64>(random() % 400);
    Coverage c;
    c.reset(bytes);
    std::vector<bool> flags(static_cast<size_t>(bytes), false);
    for (int ranges = static_cast<int>(random() % 8); ranges > 0; --ranges) {
      i64 begin = static_cast<i64>(random() % static_cast<std::uint64_t>(bytes));
      i64 end = begin + static_cast<i64>(random() % static_cast<std::uint64_t>(bytes - begin + 1));
      c.add(begin, end);
      for (i64 i = begin; i < end; ++i) flags[static_cast<size_t>(i)] = true;
    }
    for (i64 from = 0; from < bytes; ++from) {
      i64 covered = from, hole = from;
      while (covered < bytes && !flags[static_cast<size_t>(covered)]) ++covered;
      while (hole < bytes && flags[static_cast<size_t>(hole)]) ++hole;
      ASSERT_EQ(c.next_covered(from), covered) << round;
      ASSERT_EQ(c.next_hole(from), hole) << round;
    }
  }
}

}  // namespace
}  // namespace mercutio
