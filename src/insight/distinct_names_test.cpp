#include "insight/distinct_names.h"

#include <gtest/gtest.h>

#include <string>

namespace mercutio {
namespace {

DistinctNames names_of(int first, int count) {
  DistinctNames names;
  for (int i = first; i < first + count; ++i) names.add("/run/out." + std::to_string(i) + ".dat");
  return names;
}

TEST(DistinctNames, CountsNamesWithinItsError) {
  for (const int count : {1, 10, 100, 300, 1000, 10'000, 100'000})
    EXPECT_NEAR(names_of(0, count).count(), count, 0.25 * count);
}

TEST(DistinctNames, CountsANameOfSeveralRanksOnce) {
  DistinctNames all = names_of(0, 1000);
  const DistinctNames same = all;
  all.add(names_of(0, 1000));
  EXPECT_EQ(all, same);
  all.add(names_of(1000, 1000));
  EXPECT_NEAR(all.count(), 2000, 500);
}

TEST(DistinctNames, HasNoneAtFirst) {
  EXPECT_TRUE(DistinctNames().none());
  EXPECT_EQ(DistinctNames().count(), 0);
  EXPECT_FALSE(names_of(0, 1).none());
}

}  // namespace
}  // namespace mercutio
