#include "engine/window/valid_map.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace mercutio {
namespace {

TEST(ValidMap, FindsBordersInAnEmptyAndAFullWindow) {
  std::vector<std::byte> flags(25);
  const ValidMap valid{flags.data(), 100, 2};
  EXPECT_TRUE(valid.empty());
  EXPECT_EQ(valid.next_valid(0), 100);
  EXPECT_EQ(valid.next_hole(0), 0);
  std::fill(flags.begin(), flags.end(), std::byte{1});
  EXPECT_EQ(valid.next_valid(3), 3);
  EXPECT_EQ(valid.next_hole(0), 100);
  valid.clear();
  EXPECT_TRUE(valid.empty());
}

TEST(ValidMap, AgreesWithOneFlagPerByte) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 400; ++round) {
    const int shift = static_cast<int>(random() % 4);
    const size_t units = 1 + random() % 100;
    std::vector<std::byte> flags(units);
    const std::uint64_t run = 1 + random() % 12;
    bool set = false;
    for (std::byte& flag : flags) {
      set = set != (random() % run == 0);
      flag = static_cast<std::byte>(set);
    }
    const ValidMap valid{flags.data(), static_cast<i64>(units) << shift, shift};
    const auto is_valid = [&](i64 at) { return flags[static_cast<size_t>(at >> shift)] == std::byte{1}; };
    for (i64 from = 0; from < valid.bytes; ++from) {
      i64 first = from, hole = from;
      while (first < valid.bytes && !is_valid(first)) ++first;
      while (hole < valid.bytes && is_valid(hole)) ++hole;
      ASSERT_EQ(valid.next_valid(from), first) << round;
      ASSERT_EQ(valid.next_hole(from), hole) << round;
    }
  }
}

}  // namespace
}  // namespace mercutio
