#include "plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include "model/machine_file.h"
#include "plan/node_buffers.h"
#include "plan/node_layout.h"
#include "plan/plan_cache.h"
#include "plan/schedule.h"

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
          hints.mercutio_domains = WantedDomains::kAligned;
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
    Topology topology;
    topology.node_of_rank.assign(static_cast<size_t>(ranks), 0);
    topology.node_names = {"n"};
    Hints hints;
    hints.romio_cb_write = Toggle::kEnable;
    Plan plan = make_plan(p, hints, topology, {});
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

// Of a job so large that the words of its ranks take much of what a node's ranks share.
TEST(Plan, WindowsFitIntoTheMemoryOfTheNodes) {
  i64 through_memory = 0;
  for (i64 ranks : {1000, 86000, 90000, 135000, 260000, 300000, 1000000}) {
    for (i64 per_node : {2, 4, 128}) {
      const i64 nodes = ranks / per_node;
      const Machine machine =
          parse_machine("nodes " + std::to_string(nodes) + "\nranks_per_node " + std::to_string(per_node) + "\n").value();
      Pattern p;
      p.direction = Direction::kWrite;
      p.ranks = p.participants = nodes * per_node;
      p.bytes = p.end = i64{1} << 40;
      p.disjoint = false;
      for (const WantedExchange exchange : {WantedExchange::kAuto, WantedExchange::kTwoLayer}) {
        for (i64 depth : {0, 64}) {
          SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(per_node) + " a node, depth " + std::to_string(depth));
          Hints hints;
          hints.romio_cb_write = Toggle::kEnable;
          hints.cb_nodes = 16;
          hints.mercutio_exchange = exchange;
          hints.mercutio_depth = depth;
          const Plan plan = make_plan(p, hints, machine.topology, {});
          ASSERT_TRUE(verify(plan, p).ok());
          ASSERT_TRUE(plan.exchanges());
          if (plan.exchange == ExchangeKind::kMessages) continue;
          ++through_memory;
          EXPECT_EQ(plan.node_buffers, most_node_buffers(plan.aggregators, machine.topology));
          EXPECT_LE(kAreaCounterBytes + 2 * plan.depth * plan.node_buffers * plan.buffer_bytes,
                    node_layout(machine.topology, per_node).area_bytes);
          Plan bad = plan;
          bad.buffer_bytes = machine.topology.segment_bytes;
          EXPECT_FALSE(verify_room(bad, window_room(machine.topology)).ok());
        }
      }
    }
  }
  EXPECT_GT(through_memory, 30);
}

// Every byte of every rank's range lies in exactly one window of exactly one aggregator that serves it, windows go up, and
// the look-ups agree with each other.
void expect_tiled(const Plan& plan, const Pattern& pattern, i64 rank, FileRange range) {
  std::vector<FileRange> windows;
  for (i64 i = 0; i < plan.domains(); ++i) {
    i64 last = -1;
    for (i64 round = 0; round < plan.windows(i); ++round) {
      const FileRange window = plan.window(i, round);
      ASSERT_FALSE(window.empty());
      ASSERT_GE(window.begin, last);
      ASSERT_LE(window.bytes(), plan.buffer_bytes);
      ASSERT_GE(window.begin, plan.domain(i).begin);
      ASSERT_LE(window.end, plan.domain(i).end);
      last = window.end;
      if (!plan.serves(i, rank)) continue;
      windows.push_back(window);
      ASSERT_EQ(plan.owner(window.begin, rank), i);
      ASSERT_EQ(plan.owner(window.end - 1, rank), i);
    }
    ASSERT_LE(plan.windows(i), plan.rounds);
    ASSERT_TRUE(plan.window(i, plan.windows(i)).empty());
  }
  std::sort(windows.begin(), windows.end(), [](const FileRange& a, const FileRange& b) { return a.begin < b.begin; });
  ASSERT_FALSE(windows.empty());
  ASSERT_LE(windows.front().begin, range.begin);
  for (size_t i = 1; i < windows.size(); ++i) ASSERT_EQ(windows[i].begin, windows[i - 1].end);
  ASSERT_GE(windows.back().end, range.end);
  ASSERT_LE(range.end, pattern.end);
}

class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 2654435761u + 1) {}
  i64 pick(i64 low, i64 high) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return low + static_cast<i64>((state_ >> 33) % static_cast<std::uint64_t>(high - low + 1));
  }
  template <class T>
  T one_of(std::initializer_list<T> values) { return values.begin()[pick(0, static_cast<i64>(values.size()) - 1)]; }
  template <Choice T>
  void choose(T& hint) {
    hint = static_cast<T>(pick(0, static_cast<i64>(words_of(hint).size()) - 1));
  }

 private:
  std::uint64_t state_;
};

struct Case {
  std::vector<RankSummary> ranks;
  Hints hints;
  Topology topology;
  Layout layout;
};

Case random_case(Numbers& numbers) {
  Case c;
  const i64 ranks = numbers.pick(1, 12), nodes = numbers.pick(1, 4), base = numbers.pick(0, 300000);
  c.topology.node_names.resize(static_cast<size_t>(nodes), "n");
  for (i64 rank = 0; rank < ranks; ++rank) {
    c.topology.node_of_rank.push_back(numbers.pick(0, nodes - 1));
    const i64 bytes = numbers.pick(0, 4) == 0 ? 0 : numbers.pick(1, 20000);
    const i64 first = base + numbers.pick(0, 60000);
    c.ranks.push_back(RankSummary{bytes, first, first + bytes + numbers.pick(0, 1) * numbers.pick(0, 50000), numbers.pick(0, bytes)});
  }
  if (ranks % 2 == 0) c.topology.cartesian = {ranks / 2, 2};
  if (numbers.pick(0, 1) == 1) c.topology.segment_bytes = 20 * MiB;
  c.layout.stripe_bytes = numbers.pick(0, 3) * 4096;
  c.layout.stripe_count = numbers.pick(0, 6);
  c.hints.mercutio_strategy = numbers.one_of({WantedStrategy::kAuto, WantedStrategy::kTwoPhase, WantedStrategy::kDynamic,
                                              WantedStrategy::kStatic, WantedStrategy::kTranspose, WantedStrategy::kDynamicGen2});
  numbers.choose(c.hints.mercutio_domains);
  numbers.choose(c.hints.mercutio_placement);
  numbers.choose(c.hints.mercutio_exchange);
  c.hints.romio_cb_write = Toggle::kEnable;
  c.hints.cb_nodes = numbers.pick(0, 1) * numbers.pick(1, 14);
  c.hints.cb_buffer_size = numbers.pick(500, 9000);
  c.hints.mercutio_saturation_bytes = numbers.pick(0, 1) * numbers.pick(1, 30000);
  c.hints.romio_lustre_co_ratio = numbers.pick(1, 3);
  if (numbers.pick(0, 5) == 0) c.hints.cb_config_list = "n:1,*:*";
  return c;
}

TEST(Plan, BlanksInTheConfigListDontMatter) {
  const Pattern p = interleaved(4, 0, 1 << 22);
  Hints hints;
  hints.cb_nodes = 4;
  for (const char* list : {"n0:1,n1:2", " n0 :1 , n1:2 "}) {
    hints.cb_config_list = list;
    EXPECT_EQ(make_plan(p, hints, nodes_of({0, 0, 1, 1}), {}).domains(), 3) << list;
  }
  hints.cb_config_list = "*:* ,n1:0";
  EXPECT_EQ(make_plan(p, hints, nodes_of({0, 0, 1, 1}), {}).domains(), 2);
}

TEST(Plan, AnyPatternOnAnyMachineIsTiled) {
  i64 moved_plans = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    Numbers numbers(seed);
    const Case c = random_case(numbers);
    const Pattern p = summarise(Direction::kWrite, false, c.ranks);
    const Plan plan = make_plan(p, c.hints, c.topology, c.layout);
    ASSERT_TRUE(verify(plan, p).ok());
    ASSERT_EQ(plan.exchanges(), p.bytes > 0) << explain(plan, p);
    if (!plan.exchanges()) continue;
    for (size_t rank = 0; rank < c.ranks.size(); ++rank) {
      const RankSummary& mine = c.ranks[rank];
      if (mine.bytes > 0) expect_tiled(plan, p, static_cast<i64>(rank), {mine.first, mine.last});
      if (::testing::Test::HasFatalFailure()) return;
    }
    // The same pattern at another offset: the plan moved is the plan made there.
    Case there = c;
    const i64 delta = plan.shift_unit() * numbers.pick(1, 5);
    for (RankSummary& rank : there.ranks) {
      rank.first += delta;
      rank.last += delta;
    }
    const Pattern moved = summarise(Direction::kWrite, false, there.ranks);
    const Plan made = make_plan(moved, c.hints, c.topology, c.layout);
    Plan shifted = plan;
    shift(shifted, delta);
    ASSERT_EQ(explain(shifted, moved), explain(made, moved));
    ASSERT_TRUE(shifted == made);
    ++moved_plans;
  }
  EXPECT_GT(moved_plans, 1000);
}

TEST(PlanCache, RemembersPlansAndMovesThem) {
  PlanCache cache;
  Topology topology = nodes_of({0, 0, 0, 0});
  Hints hints;
  std::vector<RankSummary> ranks;
  for (i64 rank = 0; rank < 4; ++rank) ranks.push_back({1 << 20, 64 * rank, 64 * rank + (4 << 20) - 192, 64, 64});
  const auto ask = [&](Direction direction, i64 at, i64 stripe_bytes = 0) {
    std::vector<RankSummary> moved = ranks;
    for (RankSummary& rank : moved) rank.first += at, rank.last += at;
    Layout layout;
    layout.stripe_bytes = stripe_bytes;
    const Pattern pattern = summarise(direction, false, moved);
    const PlanCache::Answer answer = cache.plan_for({pattern, hints, topology, layout});
    EXPECT_EQ(*answer.plan, make_plan(pattern, hints, topology, layout)) << at;
    return answer.remembered;
  };
  EXPECT_FALSE(ask(Direction::kWrite, 0));
  EXPECT_TRUE(ask(Direction::kWrite, 0));
  EXPECT_TRUE(ask(Direction::kWrite, 8 << 20));
  EXPECT_TRUE(ask(Direction::kWrite, 4 << 20)) << "back again";
  EXPECT_FALSE(ask(Direction::kRead, 4 << 20));
  EXPECT_FALSE(ask(Direction::kWrite, 4 << 20, 1 << 20));
  EXPECT_TRUE(ask(Direction::kRead, 0)) << "several are remembered";
  hints.cb_nodes = 3;
  EXPECT_FALSE(ask(Direction::kWrite, 0)) << "other hints";
  ranks[2].bytes -= 64;
  EXPECT_FALSE(ask(Direction::kWrite, 0)) << "another pattern";
  ranks[2].bytes += 64;
  ranks[2].first += 64;
  EXPECT_FALSE(ask(Direction::kWrite, 0)) << "one rank's part elsewhere";
}

Plan everyone_aggregates(i64 ranks, ExchangeOrder order) {
  Plan plan;
  plan.order = order;
  for (i64 rank = 0; rank < ranks; ++rank) plan.aggregators.push_back(rank);
  return plan;
}

i64 greatest_in_degree(const ExchangeSchedule& order, const Topology& topology, i64 aggregators) {
  i64 greatest = 0;
  for (i64 step = 0; step < aggregators; ++step) {
    std::vector<i64> degree(static_cast<size_t>(aggregators), 0);
    for (i64 rank = 0; rank < topology.ranks(); ++rank) greatest = std::max(greatest, ++degree[static_cast<size_t>(order.peer(place_of(rank, topology), step))]);
  }
  return greatest;
}

TEST(ExchangeSchedule, InDegreeOfAStepIsBounded) {
  for (const Topology& topology : {nodes_of({0, 0, 0, 0, 1, 1, 1, 1}), nodes_of({0, 1, 0, 1, 0, 1, 0, 1}), nodes_of({0, 1, 1, 0, 1, 0, 0, 1})}) {
    auto degree = [&](ExchangeOrder order) { return greatest_in_degree(ExchangeSchedule(everyone_aggregates(8, order), topology), topology, 8); };
    EXPECT_EQ(degree(ExchangeOrder::kNormal), 8);
    EXPECT_EQ(degree(ExchangeOrder::kRing), 1);
    EXPECT_EQ(degree(ExchangeOrder::kNodeShift), 4);
    EXPECT_EQ(degree(ExchangeOrder::kNodeRankShift), 1);
  }
}

TEST(ExchangeSchedule, VisitsEveryAggregatorOnceBeginningOnTheNextNode) {
  const Topology uneven = nodes_of({0, 0, 0, 1, 2, 2});
  for (ExchangeOrder order : {ExchangeOrder::kNormal, ExchangeOrder::kRing, ExchangeOrder::kNodeShift, ExchangeOrder::kNodeRankShift}) {
    Plan plan;
    plan.order = order;
    plan.aggregators = {0, 1, 3, 5};
    const ExchangeSchedule steps(plan, uneven);
    for (i64 rank = 0; rank < 6; ++rank) {
      std::vector<i64> seen;
      for (i64 step = 0; step < 4; ++step) seen.push_back(steps.peer(place_of(rank, uneven), step));
      std::sort(seen.begin(), seen.end());
      EXPECT_EQ(seen, (std::vector<i64>{0, 1, 2, 3}));
    }
    if (order < ExchangeOrder::kNodeShift) continue;
    EXPECT_EQ(steps.peer(place_of(0, uneven), 0), 2);
    EXPECT_EQ(steps.peer(place_of(3, uneven), 0), 3);
  }
}

TEST(Plan, ExplainIsGolden) {
  Pattern p = interleaved(4, 1000, 1000 + (8 << 20));
  Hints hints;
  hints.cb_nodes = 2;
  hints.cb_buffer_size = 1 << 20;
  Plan plan = make_plan(p, hints, nodes_of({0, 0, 1, 1}), Layout{1 << 20, 4, 0});
  EXPECT_EQ(plan, make_plan(p, hints, nodes_of({0, 0, 1, 1}), Layout{1 << 20, 4, 0}));
  EXPECT_EQ(explain(plan, p),
            "write: 8388608 bytes in [1000, 8389608) by 4 of 4 ranks, 0 contiguous, interleaved, gaps of 0\n"
            "strategy:  two_phase   # the ranks' ranges interleave\n"
            "placement: stripe_aware 0 2   # cb_nodes=2, each server from one node\n"
            "map:       stripe_cyclic   # the file is striped over 4 servers\n"
            "domains:   stripe_cyclic, 9437184 bytes from 0, unit 1048576, in turn among 2   # 2 of 4 servers each\n"
            "exchange:  messages, nd_rank_shift   # no ranks share memory\n"
            "rounds:    5 of 1048576 bytes, depth 2   # cb_buffer_size=1048576, a stripe at most\n");
}


Layout progressive_layout() {
  Layout layout{MiB, 1};
  for (const auto& [begin, end, bytes, count] : {std::tuple<i64, i64, i64, i64>{0, 8 * MiB, MiB, 1}, {8 * MiB, 64 * MiB, MiB, 4}, {64 * MiB, kEndOfFile, 4 * MiB, 8}}) {
    LayoutComponent component;
    component.begin = begin, component.end = end, component.stripe_bytes = bytes, component.stripe_count = count;
    layout.components.push_back(component);
  }
  return layout;
}

TEST(RangeCyclic, EachServerOfEachComponentMeetsOneAggregator) {
  const Layout layout = progressive_layout();
  const Topology topology = nodes_of({0, 0, 1, 1, 2, 2, 3, 3});
  for (const i64 aggregators : {1, 2, 3, 4, 8}) {
    Hints hints;
    hints.cb_nodes = aggregators;
    const Pattern pattern = interleaved(8, 5000, 200 * MiB);
    const Plan plan = make_plan(pattern, hints, topology, layout);
    ASSERT_EQ(plan.domain_map, DomainMap::kRangeCyclic);
    ASSERT_TRUE(verify(plan, pattern).ok());
    std::map<std::pair<i64, i64>, std::set<i64>> meets;   // of a component and a stripe of it
    i64 covered = 0;
    for (i64 i = 0; i < plan.domains(); ++i) {
      i64 at = plan.begin;
      for (i64 w = 0; w < plan.windows(i); ++w) {
        const FileRange window = plan.window(i, w);
        ASSERT_FALSE(window.empty());
        ASSERT_GE(window.begin, at);
        at = window.end;
        covered += window.bytes();
        EXPECT_EQ(plan.owner(window.begin), i);
        EXPECT_EQ(plan.owner(window.end - 1), i);
        EXPECT_GE(plan.share_end(window.begin), window.end);
        const LayoutComponent* const component = layout.component_at(window.begin);
        meets[{component->begin, window.begin / component->stripe_bytes % component->stripe_count}].insert(i);
      }
      EXPECT_TRUE(plan.window(i, plan.windows(i)).empty());
    }
    EXPECT_EQ(covered, plan.end - plan.begin);
    for (const auto& [stripe, owners] : meets) EXPECT_EQ(owners.size(), 1U) << stripe.first << " " << stripe.second;
  }
}

TEST(RangeCyclic, InsideOfOneComponentPlansAreThoseOfPlainStripes) {
  const Topology topology = nodes_of({0, 0, 1, 1});
  const Pattern pattern = interleaved(4, 10 * MiB, 20 * MiB);
  Plan by_range = make_plan(pattern, Hints{}, topology, progressive_layout());
  EXPECT_EQ(by_range, make_plan(pattern, Hints{}, topology, Layout{MiB, 4}));
}

TEST(Plan, AStripedFileGetsAnAggregatorForEachServerUpToEightANode) {
  const Topology node = nodes_of(std::initializer_list<i64>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const Pattern pattern = interleaved(12, 0, 64 * MiB);
  EXPECT_EQ(make_plan(pattern, Hints{}, node, Layout{MiB, 8}).domains(), 8);
  EXPECT_EQ(make_plan(pattern, Hints{}, node, Layout{MiB, 16}).domains(), 8);
  EXPECT_EQ(make_plan(pattern, Hints{}, node, Layout{MiB, 4}).domains(), 4);
  EXPECT_EQ(make_plan(pattern, Hints{}, node, Layout{}).domains(), 4);
  Hints measured;
  measured.mercutio_aggregators_per_node = 2;
  EXPECT_EQ(make_plan(pattern, measured, node, Layout{MiB, 8}).domains(), 2);
}

TEST(Plan, WithoutServersDomainsAreCutAtBlocksThatFitElseAtPages) {
  const Topology topology = nodes_of({0, 0, 1, 1});
  Layout blocks, objects{4 * MiB, 0};
  blocks.block_bytes = 4 * MiB;
  for (const Layout& layout : {blocks, objects}) {
    EXPECT_EQ(make_plan(interleaved(4, 0, 64 * MiB), Hints{}, topology, layout).unit_bytes, 4 * MiB);
    const Plan small = make_plan(interleaved(4, 0, 8 * MiB), Hints{}, topology, layout);
    EXPECT_EQ(small.domain_map, DomainMap::kAligned);
    EXPECT_EQ(small.unit_bytes, 4096);
  }
  blocks.block_bytes = 6000;
  EXPECT_EQ(make_plan(interleaved(4, 0, 64 * MiB), Hints{}, topology, blocks).unit_bytes, 4096);
}

TEST(RangeCyclic, CachedPlansAreNotMovedIntoOtherStripes) {
  const Topology topology = nodes_of({0, 0, 1, 1});
  const Layout layout = progressive_layout();
  const Hints hints;
  PlanCache cache;
  const auto ask = [&](i64 at) {
    const std::vector<RankSummary> ranks(4, RankSummary{MiB, at, at + 4 * MiB});
    const Pattern pattern = summarise(Direction::kWrite, false, ranks);
    const PlanCache::Answer answer = cache.plan_for({pattern, hints, topology, layout});
    EXPECT_EQ(answer.plan->unit_bytes, make_plan(pattern, hints, topology, layout).unit_bytes) << at;
    EXPECT_TRUE(verify(*answer.plan, pattern).ok());
    return answer.remembered;
  };
  EXPECT_FALSE(ask(8 * MiB));
  EXPECT_TRUE(ask(12 * MiB));
  EXPECT_FALSE(ask(128 * MiB));
  EXPECT_TRUE(ask(160 * MiB));
}

}  // namespace
}  // namespace mercutio
