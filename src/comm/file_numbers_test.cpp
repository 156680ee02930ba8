#include "comm/file_numbers.h"

#include <gtest/gtest.h>

#include <vector>

namespace mercutio {
namespace {

using Order = FileNumbers::Order;

std::vector<i64> drawn_and_given_back(FileNumbers& numbers, int times) {
  std::vector<i64> got;
  for (int i = 0; i < times; ++i) {
    got.push_back(numbers.draw().value());
    numbers.give_back(got.back());
  }
  return got;
}

TEST(FileNumbers, InTurnComeRound) {
  FileNumbers numbers(3, Order::kInTurn);
  for (i64 i = 0; i < 6; ++i) {
    const auto drawn = numbers.draw();
    ASSERT_TRUE(drawn);
    EXPECT_EQ(*drawn, i % 3);
    numbers.give_back(*drawn);
  }
}

TEST(FileNumbers, InTurnSkipsThoseInUse) {
  FileNumbers numbers(4, Order::kInTurn);
  ASSERT_EQ(numbers.draw().value(), 0);
  EXPECT_EQ(drawn_and_given_back(numbers, 5), (std::vector<i64>{1, 2, 3, 1, 2}));
}

TEST(FileNumbers, LowestIsUsedAgainAtOnce) {
  FileNumbers numbers(4, Order::kLowest);
  ASSERT_EQ(numbers.draw().value(), 0);
  EXPECT_EQ(drawn_and_given_back(numbers, 3), (std::vector<i64>{1, 1, 1}));
  EXPECT_EQ(numbers.draw().value(), 1);
  EXPECT_EQ(numbers.draw().value(), 2);
}

TEST(FileNumbers, LowestAmongClaimedOnes) {
  FileNumbers numbers(5, Order::kLowest);
  EXPECT_TRUE(numbers.claim(1));
  EXPECT_EQ(numbers.draw().value(), 0);
  EXPECT_EQ(numbers.draw().value(), 2);
  numbers.give_back(1);
  numbers.give_back(2);
  EXPECT_EQ(numbers.draw().value(), 1);
  EXPECT_EQ(numbers.draw().value(), 2);
  EXPECT_EQ(numbers.draw().value(), 3);
  EXPECT_EQ(numbers.draw().value(), 4);
  EXPECT_FALSE(numbers.draw());
}

TEST(FileNumbers, NoneWhereAllAreInUse) {
  FileNumbers numbers(2, Order::kLowest);
  ASSERT_TRUE(numbers.draw() && numbers.draw());
  EXPECT_FALSE(numbers.draw());
  numbers.give_back(1);
  EXPECT_EQ(numbers.draw().value(), 1);
}

TEST(FileNumbers, AreRejectedWhereTheyAreInUse) {
  FileNumbers numbers(4, Order::kLowest);
  EXPECT_TRUE(numbers.claim(2));
  EXPECT_FALSE(numbers.claim(2));
  numbers.give_back(2);
  EXPECT_TRUE(numbers.claim(2));
}

}  // namespace
}  // namespace mercutio
