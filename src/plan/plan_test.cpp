#include "plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mercutio {
namespace {

Topology nodes_of(std::initializer_list<i64> node_of_rank) {
  Topology topology;
  topology.node_of_rank = node_of_rank;
  for (i64 node = 0; node <= *std::max_element(node_of_rank.begin(), node_of_rank.end()); ++node) {
    topology.node_names.push_back("n" + std::to_string(node));
  }
  return topology;
}

Pattern interleaved(i64 ranks, i64 begin, i64 end) {
  std::vector<RankSummary> all(static_cast<size_t>(ranks), RankSummary{(end - begin) / ranks, begin, end});
  return summarise(Direction::kWrite, false, all);
}

TEST(Pattern, IsOverRanksWithDataOnly) {
  std::vector<RankSummary> ranks = {{10, 100, 110}, {0, 0, 0}, {20, 40, 80}, {0, 7, 7}};
  Pattern p = summarise(Direction::kRead, false, ranks);
  EXPECT_EQ(p.participants, 2);
  EXPECT_EQ(p.contiguous, 1);
  EXPECT_EQ(p.begin, 40);
  EXPECT_EQ(p.end, 110);
  EXPECT_EQ(p.bytes, 30);
  EXPECT_TRUE(p.disjoint);
  ranks.push_back({5, 105, 115});
  EXPECT_FALSE(summarise(Direction::kRead, false, ranks).disjoint);
  EXPECT_EQ(summarise(Direction::kRead, false, {}).bytes, 0);
}

TEST(Plan, DisjointContiguousRunsNeedNoExchange) {
  std::vector<RankSummary> ranks = {{10, 0, 10}, {10, 20, 30}, {10, 10, 20}};
  Pattern p = summarise(Direction::kWrite, false, ranks);
  EXPECT_EQ(make_plan(p, Hints{}, nodes_of({0, 0, 0}), {}).strategy, Strategy::kIndividual);
  Hints forced;
  forced.romio_cb_write = Toggle::kEnable;
  EXPECT_EQ(make_plan(p, forced, nodes_of({0, 0, 0}), {}).strategy, Strategy::kTwoPhase);
}

TEST(Plan, InterleavedRangesAreExchangedUnlessAtomicOrDisabled) {
  Pattern p = interleaved(4, 0, 1 << 20);
  EXPECT_EQ(make_plan(p, Hints{}, nodes_of({0, 0, 0, 0}), {}).strategy, Strategy::kTwoPhase);
  Hints disabled;
  disabled.romio_cb_write = Toggle::kDisable;
  EXPECT_EQ(make_plan(p, disabled, nodes_of({0, 0, 0, 0}), {}).strategy, Strategy::kIndividual);
  p.atomic = true;
  EXPECT_EQ(make_plan(p, Hints{}, nodes_of({0, 0, 0, 0}), {}).strategy, Strategy::kIndividual);
}

TEST(Plan, AggregatorsGoRoundRobinOverNodes) {
  Hints hints;
  hints.cb_nodes = 3;
  Plan plan = make_plan(interleaved(6, 0, 1 << 20), hints, nodes_of({0, 0, 0, 1, 1, 2}), {});
  EXPECT_EQ(plan.aggregators, (std::vector<i64>{0, 3, 5}));
  hints.cb_nodes = 100;
  plan = make_plan(interleaved(6, 0, 1 << 20), hints, nodes_of({0, 0, 0, 1, 1, 2}), {});
  EXPECT_EQ(plan.domains(), 6);
}

TEST(Plan, DomainsAndWindowsTileTheRangeForAnyNumbers) {
  for (i64 begin : {0, 1, 4095, 5000, 1 << 20}) {
    for (i64 bytes : {1, 2, 7, 4096, 50000, 3 << 20}) {
      for (i64 aggregators : {1, 2, 3, 5}) {
        for (i64 stripe : {0, 65536}) {
          Hints hints;
          hints.cb_nodes = aggregators;
          hints.cb_buffer_size = 10000;
          hints.romio_cb_write = Toggle::kEnable;
          Pattern p = summarise(Direction::kWrite, false, std::vector<RankSummary>(5, RankSummary{bytes, begin, begin + bytes}));
          Plan plan = make_plan(p, hints, nodes_of({0, 0, 0, 0, 0}), Layout{stripe, 4, 0});
          ASSERT_EQ(plan.strategy, Strategy::kTwoPhase);
          ASSERT_TRUE(verify(plan, p).ok());
          i64 covered = begin;
          for (i64 i = 0; i < plan.domains(); ++i) {
            for (i64 round = 0; round < plan.windows(i); ++round) {
              FileRange window = plan.window(i, round);
              ASSERT_FALSE(window.empty());
              ASSERT_EQ(window.begin, covered);
              ASSERT_LE(window.bytes(), plan.buffer_bytes);
              covered = window.end;
            }
            ASSERT_TRUE(plan.window(i, plan.windows(i)).empty());
          }
          ASSERT_EQ(covered, begin + bytes);
        }
      }
    }
  }
}

TEST(Plan, StagingStaysBounded) {
  for (i64 ranks : {1, 2, 100, 300, 100000}) {
    Pattern p;
    p.direction = Direction::kWrite;
    p.ranks = p.participants = ranks;
    p.bytes = p.end = 1 << 30;
    p.disjoint = false;
    Topology topology{std::vector<i64>(static_cast<size_t>(ranks), 0), {"n"}};
    Hints hints;
    hints.romio_cb_write = Toggle::kEnable;
    Plan plan = make_plan(p, hints, topology, {});
    EXPECT_LE(plan.chunk_bytes * plan.lanes, 4 * MiB);
    EXPECT_LE(plan.chunk_bytes, 1 * MiB);
  }
}

TEST(Plan, VerifyFindsABrokenPlan) {
  Pattern p = interleaved(4, 0, 1 << 20);
  Plan good = make_plan(p, Hints{}, nodes_of({0, 0, 0, 0}), {});
  ASSERT_TRUE(verify(good, p).ok());
  Plan bad = good;
  bad.end -= 1;
  EXPECT_FALSE(verify(bad, p).ok());
  bad = good;
  bad.aggregators[0] = 4;
  EXPECT_FALSE(verify(bad, p).ok());
  bad = good;
  bad.rounds = 0;
  EXPECT_FALSE(verify(bad, p).ok());
}

TEST(Plan, ExplainIsGolden) {
  Pattern p = interleaved(4, 1000, 1000 + (8 << 20));
  Hints hints;
  hints.cb_nodes = 2;
  hints.cb_buffer_size = 1 << 20;
  Plan plan = make_plan(p, hints, nodes_of({0, 0, 1, 1}), Layout{1 << 20, 4, 0});
  EXPECT_EQ(plan, make_plan(p, hints, nodes_of({0, 0, 1, 1}), Layout{1 << 20, 4, 0}));
  EXPECT_EQ(explain(plan, p),
            "write: 8388608 bytes in [1000, 8389608) by 4 of 4 ranks, 0 contiguous, interleaved\n"
            "strategy:  two_phase   # the ranks' ranges interleave\n"
            "placement: stripe_aware 0 2   # cb_nodes=2, each server from one node\n"
            "map:       stripe_cyclic   # the file is striped over 4 servers\n"
            "domains:   stripe_cyclic, 9437184 bytes from 0, unit 1048576, in turn among 2   # 2 of 4 servers each\n"
            "exchange:  messages, nd_rank_shift, chunks of 1048576 bytes, 4 lanes   # staging of 4 MiB a side\n"
            "rounds:    5 of 1048576 bytes, depth 2   # cb_buffer_size=1048576, a stripe at most\n");
}

}  // namespace
}  // namespace mercutio
