// A list says the same numbers whatever form it has, and finds places in them as the standard library does.
#include "model/number_list.h"

#include <gtest/gtest.h>

#include <limits>

namespace mercutio {
namespace {

constexpr i64 kFar = i64{1} << 62;

const Numbers kLists[] = {
    {},
    {0},
    {7},
    {0, 8, 24, 24, 1024},
    {-4096, -8, 0, 16, 1 << 20},
    {INT32_MIN, -1, 0, 1, INT32_MAX},
    {INT32_MIN - i64{1}, 0, 1},
    {0, 1, INT32_MAX + i64{1}},
    {i64{INT32_MIN} * 4096, 0, i64{INT32_MAX} * 4096},
    {-kFar, 0, kFar},
    {0, kFar, kFar + 1},
    {std::numeric_limits<i64>::min(), std::numeric_limits<i64>::max()},
};

Numbers copy_of(const NumberList& list) {
  Numbers numbers;
  list.visit([&](auto at) {
    for (i64 i = 0; i < list.size(); ++i) numbers.push_back(at[i]);
  });
  return numbers;
}

bool is_narrow(const NumberList& list) { return list.memory_bytes() < list.size() * static_cast<i64>(sizeof(i64)); }

TEST(NumberList, KeepsItsNumbersInEitherForm) {
  for (const Numbers& numbers : kLists) {
    const NumberList wide(numbers), narrow = narrowed(numbers);
    EXPECT_EQ(copy_of(wide), numbers);
    EXPECT_EQ(copy_of(narrow), numbers);
    for (i64 i = 0; i < narrow.size(); ++i) EXPECT_EQ(narrow[i], numbers[static_cast<std::size_t>(i)]);
  }
}

TEST(NumberList, IsNarrowWhereMultiplesOfAPowerOfTwoFit) {
  EXPECT_TRUE(is_narrow(narrowed({INT32_MIN, -1, 0, INT32_MAX})));
  EXPECT_TRUE(is_narrow(narrowed({0, i64{INT32_MAX} * 4096})));
  EXPECT_TRUE(is_narrow(narrowed({0, kFar})));
  EXPECT_FALSE(is_narrow(narrowed({1, INT32_MAX + i64{1}})));
  EXPECT_FALSE(is_narrow(narrowed({INT32_MIN - i64{1}, 0})));
  EXPECT_FALSE(is_narrow(NumberList({1, 2, 3})));
}

TEST(NumberList, FindsPlacesBetweenItsNumbersToo) {
  for (const Numbers& numbers : kLists) {
    const NumberList narrow = narrowed(numbers);
    for (const i64 number : numbers) {
      for (const i64 limit : {number, number == std::numeric_limits<i64>::max() ? number : number + 1,
                              number == std::numeric_limits<i64>::min() ? number : number - 1, number / 2, number / 3}) {
        EXPECT_EQ(narrow.first_from(limit), std::lower_bound(numbers.begin(), numbers.end(), limit) - numbers.begin()) << limit;
      }
    }
  }
}

TEST(NumberList, SharesPartsOfALargerOne) {
  const auto ints = std::make_shared<const LargeVector<std::int32_t>>(LargeVector<std::int32_t>{3, -1, 5, 9});
  const NumberList part(ints, 1, 2), shifted(ints, 2, 2, 4);
  EXPECT_EQ(copy_of(part), (Numbers{-1, 5}));
  EXPECT_EQ(copy_of(shifted), (Numbers{80, 144}));
  const NumberList copy = part;
  EXPECT_EQ(copy[1], 5);
  EXPECT_EQ(copy_of(*part.scaled(8, 3)), (Numbers{-5, 43}));
  EXPECT_EQ(copy_of(*part.scaled(8, 3)->scaled(2, -1)), (Numbers{-11, 85}));
  EXPECT_EQ(part.scaled(8, 3)->first_from(43), 1);
  EXPECT_EQ(part.scaled(8, 3)->first_from(44), 2);
  EXPECT_EQ(copy_of(*NumberList({1, kFar}).scaled(1, 5)), (Numbers{6, kFar + 5}));
  EXPECT_FALSE(part.scaled(24, 0));
  EXPECT_FALSE(part.scaled(-8, 0));
  EXPECT_FALSE(part.scaled(8, 0)->scaled(kFar, 0));
}

}  // namespace
}  // namespace mercutio
