// The matrices and the mappings: the example of the literature to the letter, and the known optimum on regular tiles.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "place/mapping.h"
#include "place/recorded.h"
#include "place/solve.h"

namespace mercutio::place {
namespace {

// The order in which `rows` x `columns` ranks touch a file that holds an array of tiles, each of `lines` lines.
std::vector<i64> tile_order(i64 rows, i64 columns, i64 lines) {
  std::vector<i64> order;
  for (i64 row = 0; row < rows; ++row) {
    for (i64 line = 0; line < lines; ++line) {
      for (i64 column = 0; column < columns; ++column) order.push_back(row * columns + column);
    }
  }
  return order;
}

Volume general(i64 rows, i64 columns, i64 lines) {
  Volume volume(rows * columns);
  add_neighbours(tile_order(rows, columns, lines), 1, volume);
  return volume;
}

// Ranks of a row exchange, others do not.
Volume rows_only(i64 rows, i64 columns) {
  Volume volume(rows * columns);
  for (i64 a = 0; a < rows * columns; ++a) {
    for (i64 b = a + 1; b < rows * columns; ++b) {
      if (a / columns == b / columns) volume.add(a, b, 100);
    }
  }
  return volume;
}

Problem on_nodes(const Volume& volume, i64 nodes) {
  return Problem{&volume, Costs(nodes, 0, 1), std::vector<i64>(static_cast<std::size_t>(nodes), volume.ranks() / nodes)};
}

Mapping cyclic(const Problem& problem) {
  Mapping mapping;
  for (i64 rank = 0; rank < problem.ranks(); ++rank) mapping.push_back(rank % problem.places());
  return mapping;
}

void expect_good(const Problem& problem, const Mapping& mapping, double cost) {
  EXPECT_EQ(static_cast<i64>(mapping.size()), problem.ranks());
  EXPECT_TRUE(fits(problem.room, mapping));
  EXPECT_NEAR(cost_of(problem, mapping), cost, 1e-6 * cost);
}

// Venkatesan et al. 2013: 2 x 2 ranks, each with a tile of four lines.
TEST(Placement, TheExampleOfTwoByTwoTiles) {
  const Volume volume = general(2, 2, 4);
  EXPECT_EQ(volume_text(volume), "0,7,0,0\n7,0,1,0\n0,1,0,7\n0,0,7,0\n");
  EXPECT_EQ(volume_text(rows_only(2, 2)), "0,100,0,0\n100,0,0,0\n0,0,0,100\n0,0,100,0\n");
  const Problem problem = on_nodes(volume, 2);
  EXPECT_EQ(cost_of(problem, {0, 1, 0, 1}), 15);
  EXPECT_EQ(cost_of(problem, {0, 0, 1, 1}), 1);
  EXPECT_EQ(sets_of(rows_only(2, 2), 2), (std::vector<std::vector<i64>>{{0, 1}, {2, 3}}));
  EXPECT_EQ(set_match(problem), (Mapping{0, 0, 1, 1}));
  expect_good(problem, improved(problem, {0, 1, 0, 1}), 1);
  expect_good(problem, mpipp(problem, 3, 1), 1);
}

// Optimum on tiles: with a row a node only the last rank of a row and the first of the next are neighbours on different nodes.
TEST(Placement, RegularTilesReachTheKnownOptimum) {
  for (const auto& [rows, columns] : std::vector<std::pair<i64, i64>>{{2, 2}, {4, 4}, {4, 8}, {8, 8}, {16, 4}, {12, 12}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    const Volume in_general = general(rows, columns, 16), special = rows_only(rows, columns);
    for (const Volume* volume : {&in_general, &special}) {
      const Problem problem = on_nodes(*volume, rows);
      const double optimum = volume == &special ? 0 : static_cast<double>(rows - 1);
      expect_good(problem, set_match(problem), optimum);
      EXPECT_LE(cost_of(problem, improved(problem, cyclic(problem))), cost_of(problem, cyclic(problem)));
      expect_good(problem, mpipp(problem, 10, 1), optimum);
    }
  }
}

// Rows that no node takes whole are divided, and two rows share a node where they fit.
TEST(Placement, NodesOfAnotherSizeThanRows) {
  const Volume volume = general(4, 8, 16);
  const Problem half = on_nodes(volume, 8), two = on_nodes(volume, 2);
  expect_good(half, set_match(half), 4 * (16 + 15) + 3);   // a row is a ring: each is cut in two places
  expect_good(two, set_match(two), 1);
  const Volume special = rows_only(4, 8);
  const Problem cut = on_nodes(special, 8);
  expect_good(cut, set_match(cut), 4 * 16 * 100);
}

TEST(Placement, NeverAboveTheStart) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 60; ++round) {
    const i64 ranks = 2 + static_cast<i64>(random() % 30);
    Volume volume(ranks);
    for (i64 a = 0; a < ranks; ++a) {
      for (i64 b = a + 1; b < ranks; ++b) {
        if (random() % 3 == 0) volume.add(a, b, static_cast<double>(random() % 1000));
      }
    }
    Problem problem{&volume, {}, {}};
    for (i64 room = 0; room < ranks;) {
      problem.room.push_back(1 + static_cast<i64>(random() % 8));
      room += problem.room.back();
    }
    problem.costs = Costs(problem.places(), 0, 0);
    for (i64 a = 0; a < problem.places(); ++a) {
      for (i64 b = 0; b < a; ++b) {
        const double cost = static_cast<double>(1 + random() % 9);
        problem.costs.set(a, b, cost);
        problem.costs.set(b, a, cost);
      }
    }
    const Mapping start = at_random(problem, random());
    const double before = cost_of(problem, start);
    for (const char* method : {"auto", "mpipp", "setmatch", "scotch"}) {
      const auto all = attempts(problem, start, Search{method});
      EXPECT_LE(cheapest(all).cost, before) << method;
      for (const Attempt& one : all) expect_good(problem, one.mapping, one.cost);
    }
    expect_good(problem, improved(problem, start), cost_of(problem, improved(problem, start)));
    EXPECT_LE(cost_of(problem, improved(problem, start)), before);
  }
}

// The best of all mappings, by trying them.
double optimum(const Problem& problem) {
  Mapping mapping = in_blocks(problem.room, problem.ranks());
  std::sort(mapping.begin(), mapping.end());
  double best = cost_of(problem, mapping);
  while (std::next_permutation(mapping.begin(), mapping.end())) best = std::min(best, cost_of(problem, mapping));
  return best;
}

TEST(Placement, MpippFindsTheBestOfSmallCases) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 10; ++round) {
    Volume volume(8);
    for (i64 a = 0; a < 8; ++a) {
      for (i64 b = a + 1; b < 8; ++b) volume.add(a, b, static_cast<double>(random() % 100));
    }
    Problem problem = on_nodes(volume, 4);
    for (i64 a = 0; a < 4; ++a) {
      for (i64 b = 0; b < 4; ++b) problem.costs.set(a, b, static_cast<double>(std::abs(a - b)));
    }
    expect_good(problem, mpipp(problem, 20, 1), optimum(problem));
  }
}

// Near nodes: sets that exchange a little sit next to each other.
TEST(Placement, CostsBetweenNodesCount) {
  Volume volume(6);
  for (const auto& [a, b, bytes] : std::vector<std::tuple<i64, i64, double>>{{0, 3, 90}, {1, 4, 80}, {2, 5, 70}, {3, 1, 9}}) volume.add(a, b, bytes);
  Problem problem = on_nodes(volume, 3);
  problem.costs.set(0, 2, 10);
  problem.costs.set(2, 0, 10);
  problem.costs.set(1, 2, 10);
  problem.costs.set(2, 1, 10);
  expect_good(problem, set_match(problem), 9);
  expect_good(problem, improved(problem, {0, 1, 2, 1, 2, 0}), 9);
}

TEST(Placement, RanksOfADomainOfANodeBelongTogether) {
  Volume volume(8);
  for (const auto& [a, b] : std::vector<std::pair<i64, i64>>{{0, 4}, {1, 5}, {2, 6}, {3, 7}}) volume.add(a, b, 10);
  const std::vector<i64> cores = cores_of(volume, Mapping(8, 0), {{0, 1, 2, 3}, {4, 5, 6, 7}});
  for (std::size_t rank = 0; rank < 4; ++rank) EXPECT_EQ(cores[rank] / 4, cores[rank + 4] / 4) << rank;
  std::vector<i64> all = cores;
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (std::vector<i64>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(cores_of(volume, {0, 1, 0, 1, 0, 1, 0, 1}, {}), (std::vector<i64>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(cores_of(volume, Mapping(8, 0), {{0, 1}}), (std::vector<i64>{0, 1, 0, 1, 0, 1, 0, 1}));
}

// Tiles as a run records them: a part of every rank's lines.
RecordedRun tiles(i64 rows, i64 columns, i64 lines, i64 line_bytes) {
  RecordedRun run;
  run.ranks = rows * columns;
  run.hosts.assign(static_cast<std::size_t>(run.ranks), "somewhere");
  RecordedFile file;
  std::vector<AccessSketch> access;
  for (i64 rank = 0; rank < run.ranks; ++rank) {
    file.members.push_back(rank);
    AccessSketch part;
    part.direction = Direction::kWrite;
    const i64 first = rank / columns * lines * columns * line_bytes + rank % columns * line_bytes;
    for (i64 line = 0; line < lines; ++line) part.runs.push_back(SketchRun{first + line * columns * line_bytes, line_bytes});
    part.summary = RankSummary{lines * line_bytes, first, part.runs.back().offset + line_bytes, line_bytes, line_bytes};
    access.push_back(std::move(part));
  }
  file.accesses.push_back(std::move(access));
  run.files.push_back(std::move(file));
  return run;
}

TEST(Placement, OfRecordedTilesKeepsRowsTogether) {
  EXPECT_EQ(volume_text(neighbours(tiles(2, 2, 4, 4))), "0,7,0,0\n7,0,1,0\n0,1,0,7\n0,0,7,0\n");
  RecordedRun run = tiles(4, 8, 64, 64 * KiB);
  run.files[0].hints.mercutio_strategy = WantedStrategy::kTwoPhase;
  run.files[0].hints.cb_nodes = 4;
  run.files[0].scale = 3;
  const Volume volume = exchanged(run, Mapping(32, 0));
  const Problem problem = on_nodes(volume, 4);
  const Mapping start = cyclic(problem);
  const Exchanged before = planned(run, start);
  EXPECT_EQ(before.bytes, 3.0 * 32 * 64 * 64 * KiB);
  EXPECT_GT(before.between_nodes, 0.7 * before.bytes);
  expect_good(problem, set_match(problem), 0);
  EXPECT_EQ(planned(run, set_match(problem)).between_nodes, 0);
  // What is sent between the ranks of a domain is all of it but what they keep.
  double sum = 0;
  for (i64 rank = 1; rank < 8; ++rank) sum += static_cast<double>(volume.at(0, rank));
  EXPECT_NEAR(sum, 2 * 3.0 * 64 * 64 * KiB * 7 / 8, 1);
}

}  // namespace
}  // namespace mercutio::place
