#include "engine/window/run_list_cache.h"

#include <gtest/gtest.h>

namespace mercutio {
namespace {

RunListCache::RunList run_list(int value, size_t bytes = 16) { return RunListCache::RunList(bytes, static_cast<std::byte>(value)); }

TEST(RunListCache, FindsEqualRunLists) {
  RunListCache cache;
  cache.begin(100);
  EXPECT_EQ(cache.find(run_list(1)), RunListCache::kNone);
  EXPECT_EQ(cache.keep(run_list(1)), 0);
  EXPECT_EQ(cache.keep(run_list(2, 5)), 1);
  EXPECT_EQ(cache.find(run_list(2, 5)), 1);
  EXPECT_EQ(cache.find(run_list(2, 6)), RunListCache::kNone);
  EXPECT_EQ(cache.find(run_list(1)), 0);
}

TEST(RunListCache, KeepsListsInUseWhenFull) {
  RunListCache cache;
  cache.begin(32);
  cache.keep(run_list(1));
  cache.keep(run_list(2));
  EXPECT_EQ(cache.keep(run_list(3)), RunListCache::kNone);
  EXPECT_EQ(cache.find(run_list(1)), 0);
  cache.begin(32);   // run list 1 has been used
  EXPECT_EQ(cache.find(run_list(1)), 0);
  EXPECT_EQ(cache.keep(run_list(3)), RunListCache::kNone);
  cache.begin(32);
  EXPECT_EQ(cache.keep(run_list(3)), RunListCache::kNone);
  cache.begin(32);   // none has been used, and there was no room
  EXPECT_EQ(cache.find(run_list(1)), RunListCache::kNone);
  EXPECT_EQ(cache.keep(run_list(3)), 0);
}

TEST(RunListCache, ASmallerLimitClearsTheCache) {
  RunListCache cache;
  cache.begin(32);
  cache.keep(run_list(1));
  cache.keep(run_list(2));
  cache.begin(16);
  EXPECT_EQ(cache.find(run_list(1)), RunListCache::kNone);
  EXPECT_EQ(cache.keep(run_list(2)), 0);
}

TEST(RunListCache, TheAggregatorAcceptsIndicesInOrder) {
  RunListCache cache;
  EXPECT_FALSE(cache.expected(0));
  EXPECT_TRUE(cache.expect(0, 16, 32));
  EXPECT_TRUE(cache.expect(1, 16, 32));
  EXPECT_TRUE(cache.at(1).empty());
  cache.fill(1, run_list(2));
  EXPECT_EQ(cache.at(1), run_list(2));
  EXPECT_TRUE(cache.at(0).empty());
  EXPECT_FALSE(cache.expect(2, 1, 32)) << "no room";
  EXPECT_FALSE(cache.expect(3, 0, 32)) << "one left out";
  EXPECT_FALSE(cache.expected(2));
  EXPECT_FALSE(cache.expected(-1));
  EXPECT_TRUE(cache.expect(0, 32, 32)) << "a new beginning";
  EXPECT_FALSE(cache.expected(1));
}

TEST(RunListCaches, ForgetTheListsOfPlansThatComeAndGo) {
  RunListCaches caches;
  Plan plan;
  const auto begin = [&](i64 aggregators) {
    plan.aggregators.assign(static_cast<size_t>(aggregators), 0);
    caches.begin(plan);
    caches.sent(1, 0).begin(64);
    return caches.sent(1, 0).find(run_list(1)) != RunListCache::kNone;
  };
  EXPECT_FALSE(begin(1));
  caches.sent(1, 0).keep(run_list(1));
  for (i64 repetition = 0; repetition < 3; ++repetition) {
    for (i64 aggregators = 1; aggregators <= 4; ++aggregators) EXPECT_TRUE(begin(aggregators));
  }
  EXPECT_FALSE(begin(5));
  caches.sent(1, 0).keep(run_list(1));
  EXPECT_TRUE(begin(1));
}

}  // namespace
}  // namespace mercutio
