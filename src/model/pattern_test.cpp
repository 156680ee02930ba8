#include "model/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "model/machine_file.h"
#include "model/pattern_file.h"
#include "model/size_text.h"

namespace mercutio {
namespace {

View view_of(const TypeSpecRef& type, i64 displacement = 0) {
  View view = *default_view();
  view.displacement = displacement;
  view.filetype = FlatType::lower(*type).value();
  return view;
}

TEST(SummaryOf, TellsTheAverageAndTheFirstRun) {
  EXPECT_EQ(summary_of(view_of(byte_type(), 7), 3, 100), (RankSummary{100, 10, 110, 100, 100}));
  // Runs of 1 and 3 bytes, 2 on average, from the middle of the longer one.
  const View runs = view_of(make_resized(0, 10, make_indexed({1, 3}, {0, 5}, byte_type())));
  EXPECT_EQ(summary_of(runs, 2, 6), (RankSummary{6, 6, 18, 2, 2}));
  EXPECT_EQ(summary_of(runs, 0, 8), (RankSummary{8, 0, 18, 2, 1}));
  // One run a copy.
  const View blocks = view_of(make_resized(0, 64, make_contiguous(16, byte_type())));
  EXPECT_EQ(summary_of(blocks, 20, 40), (RankSummary{40, 68, 68 + 2 * 64 + 8, 16, 12}));
  EXPECT_EQ(summary_of(blocks, 16, 16), (RankSummary{16, 64, 80, 16, 16}));
  EXPECT_EQ(summary_of(blocks, 5, 0), RankSummary{});
  // Ten million blocks cost nothing.
  const View many = view_of(make_vector(10'000'000, 8, 16, byte_type()));
  EXPECT_EQ(summary_of(many, 0, 80'000'000), (RankSummary{80'000'000, 0, 159'999'992, 8, 8}));
}

// What one rank after the other says, by another way than PatternPart's.
Pattern expected_from(const std::vector<RankSummary>& ranks) {
  Pattern pattern;
  pattern.ranks = std::ssize(ranks);
  std::vector<std::pair<i64, i64>> ranges;
  i64 run_end = -1, runs = 0;
  bool looked = true;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const RankSummary& rank = ranks[i];
    if (rank.bytes == 0) continue;
    ranges.emplace_back(rank.first, rank.last);
    pattern.bytes += rank.bytes;
    pattern.contiguous += rank.contiguous() ? 1 : 0;
    const i64 run = rank.run_bytes > 0 ? rank.run_bytes : rank.contiguous() ? rank.bytes : 0;
    looked = looked && run > 0;
    runs += run;
    if (pattern.groups.empty() || rank.first != run_end) pattern.groups.push_back({static_cast<i64>(i), 0, 0, rank.first, rank.last});
    RankRow& group = pattern.groups.back();
    group.end_rank = static_cast<i64>(i) + 1;
    group.bytes += rank.bytes;
    group.end = std::max(group.end, rank.last);
    run_end = rank.first + (rank.first_run_bytes > 0 ? rank.first_run_bytes : run);
  }
  if (ranges.empty()) return pattern;
  std::sort(ranges.begin(), ranges.end());
  pattern.participants = std::ssize(ranges);
  pattern.begin = ranges.front().first;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (i > 0 && ranges[i].first < pattern.end) pattern.disjoint = false;
    pattern.end = std::max(pattern.end, ranges[i].second);
  }
  pattern.run_bytes = looked ? runs / pattern.participants : 0;
  return pattern;
}

// Summaries as of blocks, rows, gaps, interleaved pieces and ranks without data.
std::vector<RankSummary> random_ranks(std::mt19937_64& random) {
  std::vector<RankSummary> ranks(1 + random() % 12);
  i64 next = static_cast<i64>(random() % 100);
  for (RankSummary& rank : ranks) {
    if (random() % 6 == 0) continue;
    const i64 run = 1 + static_cast<i64>(random() % 20), copies = 1 + static_cast<i64>(random() % 3);
    rank.first = random() % 8 == 0 ? static_cast<i64>(random() % 200) : next;
    rank.bytes = run * copies;
    rank.last = copies == 1 ? rank.first + run : rank.first + 500 * (copies - 1) + run;
    if (random() % 8 > 0) rank.run_bytes = run;
    if (random() % 3 == 0) rank.first_run_bytes = run;
    next = rank.first + run + (random() % 4 == 0 ? static_cast<i64>(random() % 10) : 0);
  }
  return ranks;
}

TEST(Pattern, PartsOfAnyRanksAddUpToAll) {
  std::mt19937_64 random(7);
  i64 disjoint = 0, joined = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::vector<RankSummary> ranks = random_ranks(random);
    std::vector<PatternPart> parts(1 + random() % 5);
    for (size_t rank = 0; rank < ranks.size(); ++rank) parts[random() % parts.size()].add(static_cast<i64>(rank), ranks[rank]);
    PatternTotals totals;
    std::vector<OpenGroup> groups;
    for (const PatternPart& part : parts) {
      totals.add(part.totals());
      groups.insert(groups.end(), part.groups().begin(), part.groups().end());
    }
    const Pattern expected = expected_from(ranks), found = join(Direction::kRead, false, std::ssize(ranks), totals, groups);
    ASSERT_EQ(found, expected) << round;
    ASSERT_EQ(summarise(Direction::kRead, false, ranks), expected) << round;
    disjoint += expected.disjoint && expected.participants > 1;
    joined += std::any_of(expected.groups.begin(), expected.groups.end(), [](const RankRow& group) { return group.ranks() > 2; });
    i64 distance = 0;
    ASSERT_TRUE(is_moved(expected, moved(expected, 77), distance));
    ASSERT_EQ(distance, expected.participants > 0 ? 77 : 0);
  }
  EXPECT_GT(disjoint, 100);
  EXPECT_GT(joined, 100);
}

TEST(Pattern, RowsGoByTheFirstRun) {
  const std::vector<RankSummary> ranks = {{100, 0, 400, 20, 10}, {100, 10, 400, 20, 5}, {100, 15, 400, 20, 1}, {100, 17, 400, 20, 1}};
  const Pattern pattern = summarise(Direction::kWrite, false, ranks);
  ASSERT_EQ(pattern.groups.size(), 2u);
  EXPECT_EQ(pattern.groups[0].end_rank, 3);
  EXPECT_EQ(pattern.run_bytes, 20);
}

TEST(SizeText, TakesUnitsAndNothingElse) {
  EXPECT_EQ(parse_size("0"), 0);
  EXPECT_EQ(parse_size("64k"), 65536);
  EXPECT_EQ(parse_size("3MiB"), 3 * MiB);
  for (const char* wrong : {"", "k", "-1", "1x", "1 k", "9223372036854775807k", "99999999999999999999"}) {
    EXPECT_FALSE(parse_size(wrong)) << wrong;
  }
}

TEST(MachineFile, SpreadsRanksOverNodes) {
  EXPECT_EQ(parse_machine("nodes 3\nranks_per_node 3 1 2").value().topology.node_of_rank, (std::vector<i64>{0, 0, 0, 1, 2, 2}));
  EXPECT_EQ(parse_machine("nodes 3\nranks_per_node 3 1 2\nmap cyclic").value().topology.node_of_rank, (std::vector<i64>{0, 1, 2, 0, 2, 0}));
  const Machine machine = parse_machine("nodes 2\nmap 1 0 1 1 # by hand\nnuma_per_node 2\nnode_names a b\nservers 4\nstripe_bytes 64k\n").value();
  EXPECT_EQ(machine.topology.node_of_rank, (std::vector<i64>{1, 0, 1, 1}));
  EXPECT_EQ(machine.topology.numa_of_rank, (std::vector<i64>{0, 0, 0, 1}));
  EXPECT_EQ(machine.topology.node_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_GT(machine.topology.segment_bytes, 0);
  EXPECT_EQ(parse_machine("nodes 2").value().topology.segment_bytes, 0);   // a rank each
  EXPECT_EQ(machine.layout, (Layout{65536, 4}));
  EXPECT_GT(parse_machine("ranks_per_node 2").value().topology.segment_bytes, 0);
  EXPECT_EQ(parse_machine("ranks_per_node 2\nshared_memory no").value().topology.segment_bytes, 0);
}

TEST(MachineFile, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(parse_machine("# a\nnodes two").error().what, "line 2: nodes: 'two' is no number of the kind 64, 4k or 1MiB");
  for (const char* text : {"nodes 0", "nodes", "nodes 1 2", "nodes 99999999999", "ranks_per_node 0", "nodes 2\nranks_per_node 1 2 3", "what 1",
                           "map around", "nodes 2\nmap 0 2", "nodes 2\nmap 0 0", "nodes 2\nnode_names a",
                           "shared_memory perhaps", "nodes 16777216\nranks_per_node 16777216",
                           "cartesian 0 1", "cartesian 4294967296 4294967296", "numa_per_node 9223372036854775807"}) {
    EXPECT_FALSE(parse_machine(text)) << text;
  }
}

TEST(PatternFile, MakesViewsOfShapes) {
  const PatternFile file = parse_pattern("access read\norigin 100\nshape interleaved\nblock 10\ncount 3\ngap 2\nidle 1", 3).value();
  EXPECT_EQ(file.direction, Direction::kRead);
  EXPECT_EQ(file.ranks, (std::vector<RankSummary>{{30, 100, 182, 10, 10}, {}, {30, 124, 206, 10, 10}}));
  const PatternFile shares = parse_pattern("shape contiguous\nblock 10\ncount 3\ngap 2", 2).value();
  EXPECT_EQ(shares.ranks, (std::vector<RankSummary>{{30, 0, 30, 30, 30}, {30, 32, 62, 30, 30}}));
  const PatternFile blocks = parse_pattern("shape blocks\ngrid 2 2\narray 4 6\nelement 8\nrank 0 bytes 1 first 3 last 4 run 1", 4).value();
  EXPECT_EQ(blocks.ranks[0], (RankSummary{1, 3, 4, 1, 24}));
  EXPECT_EQ(blocks.ranks[3], (RankSummary{48, 120, 192, 24, 24}));
}

TEST(PatternFile, SaysWhatIsWrong) {
  for (const char* text : {"shape ball", "shape blocks", "shape blocks\ngrid 2 2\narray 4", "shape blocks\ngrid 2 2\narray 4 1",
                           "shape blocks\ngrid 2 2\narray 4 4\nhalo 1", "shape interleaved\nblock 0", "shape interleaved\nblock 8388608g\ncount 4g",
                           "rank 4 bytes 1 first 0 last 1", "rank 0 bytes 1", "rank 0 bits 1", "block 1 2", "access both", "colour red",
                           "shape blocks\ngrid 4611686018427387904 4\narray 4 4",
                           "shape blocks\ngrid 4 4611686018427387904\narray 4 4",
                           "shape blocks\ngrid 4\narray 4\nhalo 9223372036854775807"}) {
    EXPECT_FALSE(parse_pattern(text, 4)) << text;
  }
}

}  // namespace
}  // namespace mercutio
