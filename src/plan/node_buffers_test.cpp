#include "plan/node_buffers.h"

#include <gtest/gtest.h>

#include "plan/plan.h"

namespace mercutio {
namespace {

TEST(NodeBuffers, AggregatorsLeadTheirOwnBuffersAndOtherRanksTakeTurns) {
  const Topology topology{{0, 0, 1, 1, 1}, {"a", "b"}};
  const std::vector<i64> aggregators = {0, 2, 3};
  const NodeBuffers buffers(aggregators, topology);
  const ByNode ranks(topology.node_of_rank, topology.nodes());
  const auto buffer = [&](i64 domain, i64 node) { return buffers.of(domain, node, ranks.of(node)); };
  EXPECT_EQ(buffer(0, 0).leader, 0);
  EXPECT_EQ(buffer(0, 0).index, 0);
  EXPECT_EQ(buffer(1, 0).leader, 0);
  EXPECT_EQ(buffer(1, 0).index, 1);
  EXPECT_EQ(buffer(2, 0).leader, 1);
  EXPECT_EQ(buffer(0, 1).leader, 2);
  EXPECT_EQ(buffer(0, 1).index, 1);
  EXPECT_EQ(buffer(1, 1).leader, 2);
  EXPECT_EQ(buffer(1, 1).index, 0);
  EXPECT_EQ(most_node_buffers(aggregators, topology), 2);
}

TEST(NodeBuffers, NoMoreAggregatorsAreChosenThanTheMemoryOfTheNodesHasWindowsFor) {
  for (const i64 nodes : {64, 250, 300, 1000}) {
    Topology machine;
    for (i64 rank = 0; rank < 4 * nodes; ++rank) machine.node_of_rank.push_back(rank / 4);
    for (i64 node = 0; node < nodes; ++node) machine.node_names.push_back("n" + std::to_string(node));
    machine.segment_bytes = 20 * MiB;
    std::vector<RankSummary> all;   // blocks that interleave
    for (i64 rank = 0; rank < 4 * nodes; ++rank) all.push_back(RankSummary{1 * MiB, 64 * rank, 4 * nodes * MiB - 64 * (4 * nodes - 1 - rank), 64, 0});
    const Pattern p = summarise(Direction::kWrite, false, all);
    const Plan plan = make_plan(p, Hints{}, machine, Layout{});
    EXPECT_EQ(plan.exchange, ExchangeKind::kTwoLayer) << nodes;
    EXPECT_EQ(plan.domains(), std::min<i64>(nodes, 252));
    Hints wish;
    wish.cb_nodes = 256;   // followed
    EXPECT_EQ(make_plan(p, wish, machine, Layout{}).domains(), 256) << nodes;
  }
}

}  // namespace
}  // namespace mercutio
