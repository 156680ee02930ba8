// Which ways there are, and what is kept of them.
#include "plan/adapter.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/machine_file.h"

namespace mercutio {
namespace {

const char* const kStriped = "nodes 4\nranks_per_node 4\nservers 4\nstripe_bytes 1MiB\n";

struct Repeated {
  explicit Repeated(const std::string& text, i64 run_bytes = 64 * KiB) : machine(parse_machine(text).value()) {
    pattern.direction = Direction::kWrite;
    pattern.ranks = pattern.participants = machine.topology.ranks();
    pattern.bytes = pattern.end = 64 * MiB;
    pattern.disjoint = false;
    pattern.run_bytes = run_bytes;
  }
  PlanQuestion question() const { return {pattern, hints, machine.topology, machine.layout}; }
  // One access that takes as long as `cost` says for its hints.
  template <class Cost>
  Hints access(Cost cost) {
    const Hints used = adapter.hints_for(question(), fixed, 1);
    if (adapter.measures()) adapter.saw(cost(used));
    pattern.begin += 64 * MiB;   // the next step
    pattern.end += 64 * MiB;
    return used;
  }
  Machine machine;
  Pattern pattern;
  Hints hints;
  FixedHints fixed;
  Adapter adapter;
};

TEST(Ways, BeginWithTheDefaultAndAreAllDifferent) {
  const Repeated repeated(kStriped);
  const std::vector<Way> ways = ways_of(repeated.question(), {});
  ASSERT_GT(ways.size(), 3u);
  EXPECT_LE(ways.size(), Trials::kMostWays);
  EXPECT_EQ(ways[0].items(), InfoItems{});
  for (size_t i = 0; i < ways.size(); ++i) EXPECT_EQ(std::count(ways.begin(), ways.end(), ways[i]), 1);
  EXPECT_TRUE(std::is_sorted(ways.begin() + 1, ways.end(), [](const Way& a, const Way& b) { return a.expected < b.expected; }));
}

TEST(Ways, LeaveAloneWhatSomebodyHasSet) {
  Repeated repeated(kStriped);
  repeated.hints.cb_nodes = 2;
  for (const Way& way : ways_of(repeated.question(), {.aggregators = true})) EXPECT_EQ(way.cb_nodes, 2);
  for (const Way& way : ways_of(repeated.question(), {.strategy = true})) EXPECT_EQ(way.strategy, WantedStrategy::kAuto);
  for (const Way& way : ways_of(repeated.question(), {.depth = true})) EXPECT_EQ(way.depth, 0);
  for (const Way& way : ways_of(repeated.question(), {.exchange = true})) EXPECT_EQ(way.exchange, WantedExchange::kAuto);
  EXPECT_EQ(ways_of(repeated.question(), {true, true, true, true}).size(), 1u);
}

TEST(Ways, NamesAndAliasesFixAHint) {
  FixedHints fixed;
  fix_hint(fixed, "num_aggregators");
  EXPECT_EQ(fixed, (FixedHints{.aggregators = true}));
  fix_hint(fixed, "collective_buffering");
  EXPECT_TRUE(fixed.strategy);
  fix_hint(fixed, "mercutio_depth");
  fix_hint(fixed, "mercutio_exchange");
  EXPECT_TRUE(fixed.all());
}

TEST(Ways, AtomicAndEmptyAccessesHaveOne) {
  Repeated repeated(kStriped);
  repeated.pattern.atomic = true;
  EXPECT_EQ(ways_of(repeated.question(), {}).size(), 1u);
  repeated.pattern.atomic = false;
  repeated.pattern.bytes = 0;
  EXPECT_EQ(ways_of(repeated.question(), {}).size(), 1u);
}

bool exchanges(const Hints& hints) { return hints.mercutio_strategy != WantedStrategy::kList && hints.mercutio_strategy != WantedStrategy::kIndividual; }

// Whether a request for each run pays depends on what an exchange takes, which only its time tells.
TEST(Adapter, SmallRunsAreMovedOneByOneWhereThatCanBeFaster) {
  for (const bool slow_requests : {true, false}) {
    Repeated repeated(kStriped, 512);
    repeated.machine.layout.cached = !slow_requests;
    const auto cost = [](const Hints& hints) { return exchanges(hints) ? i64{500'000'000} : i64{90'000'000}; };
    i64 alone = 0;
    for (int call = 0; call < 30; ++call) alone += exchanges(repeated.access(cost)) ? 0 : 1;
    if (slow_requests) {
      EXPECT_EQ(alone, 0);
    } else {
      EXPECT_GE(alone, 24);
    }
  }
}

TEST(Adapter, WaysThatCannotWinAreNotTried) {
  Repeated repeated(kStriped);
  repeated.machine.layout.cached = true;
  const auto cost = [](const Hints& hints) { return exchanges(hints) ? i64{90'000'000} : i64{2'000'000}; };
  i64 others = 0;
  for (int call = 0; call < 20; ++call) others += exchanges(repeated.access(cost)) ? 1 : 0;
  EXPECT_LE(others, 4) << "calls of the default, before the first trial and in the end";
}

TEST(Adapter, KeepsWhatIsFasterAndSaysSo) {
  Repeated repeated(kStriped);
  const auto cost = [](const Hints& hints) { return hints.mercutio_depth == 4 ? i64{4'000'000} : i64{9'000'000}; };
  Hints last;
  for (int call = 0; call < 25; ++call) last = repeated.access(cost);
  EXPECT_EQ(last.mercutio_depth, 4);
  EXPECT_NE(repeated.adapter.report().find("by how much is not sure"), std::string::npos) << repeated.adapter.report();
  for (int call = 0; call < 300; ++call) last = repeated.access(cost);
  const InfoItems winner = repeated.adapter.winner().value_or(InfoItems{});
  EXPECT_NE(std::find(winner.begin(), winner.end(), std::pair<std::string, std::string>("mercutio_depth", "4")), winner.end());
  EXPECT_NE(repeated.adapter.report().find("2.25 times as fast"), std::string::npos) << repeated.adapter.report();
  EXPECT_TRUE(repeated.adapter.searches(Direction::kWrite)) << "it may become worse";
  EXPECT_FALSE(repeated.adapter.searches(Direction::kRead));
}

TEST(Adapter, LeavesShortAccessesAlone) {
  Repeated repeated(kStriped);
  int changed = 0;
  for (int call = 0; call < 25; ++call) changed += repeated.access([](const Hints&) { return i64{5000}; }) == repeated.hints ? 0 : 1;
  EXPECT_EQ(changed, 0);
  EXPECT_FALSE(repeated.adapter.searches(Direction::kWrite));
}

TEST(Adapter, EndsForGood) {
  Repeated repeated(kStriped);
  const auto cost = [](const Hints&) { return i64{9'000'000}; };
  for (int call = 0; call < 6; ++call) repeated.access(cost);
  repeated.adapter.end();
  for (int call = 0; call < 25; ++call) EXPECT_EQ(repeated.access(cost), repeated.hints);
  EXPECT_FALSE(repeated.adapter.measures());
}

TEST(Adapter, PatternsAreKeptApart) {
  Repeated repeated(kStriped);
  const auto cost = [&](const Hints& hints) { return (hints.mercutio_depth == 4) == (repeated.pattern.direction == Direction::kWrite) ? i64{2'000'000} : i64{9'000'000}; };
  for (int call = 0; call < 60; ++call) {
    repeated.pattern.direction = call % 2 == 0 ? Direction::kWrite : Direction::kRead;
    repeated.access(cost);
  }
  const auto deep = [&](Direction direction) {
    repeated.pattern.direction = direction;
    int calls = 0;
    for (int call = 0; call < 5; ++call) calls += repeated.access(cost).mercutio_depth == 4 ? 1 : 0;
    return calls;
  };
  EXPECT_GE(deep(Direction::kWrite), 4) << "the default may be measured once";
  EXPECT_EQ(deep(Direction::kRead), 0);
}

TEST(Adapter, MorePatternsThanThereIsRoomForAreLeftAlone) {
  Repeated repeated(kStriped);
  for (i64 size = 1; size < 30; ++size) {
    repeated.pattern.end = repeated.pattern.begin + (i64{1} << size);
    repeated.pattern.bytes = i64{1} << size;
    repeated.access([](const Hints&) { return i64{9'000'000}; });
  }
  EXPECT_FALSE(repeated.adapter.measures());
}

}  // namespace
}  // namespace mercutio
