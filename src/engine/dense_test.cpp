// Collective writes that are known to be dense: when a pattern is learned, when it is used, and that no other pattern is mistaken
// for it.
#include <gtest/gtest.h>

#include "comm/in_process.h"
#include "engine/node_entry.h"
#include "engine/test_support.h"

namespace mercutio {
namespace {

using namespace mercutio::testing;

constexpr i64 kRanks = 4, kPiece = 8, kPieces = 64;

// The numbers of the pieces of the file that each rank has.
using Map = std::vector<std::vector<i64>>;

Map dealt_by(const std::function<i64(i64)>& owner_of) {
  Map map(kRanks);
  for (i64 piece = 0; piece < kPieces; ++piece) {
    const i64 owner = owner_of(piece);
    if (owner < kRanks) map[static_cast<size_t>(owner)].push_back(piece);
  }
  return map;
}

Map in_turn() {
  return dealt_by([](i64 piece) { return piece % kRanks; });
}

// Like in_turn(), with the same number of bytes and the same range per rank, but one piece is written twice and one by no rank.
Map with_a_hole() {
  Map map = in_turn();
  map[1][kPieces / kRanks / 2] += 1;
  return map;
}

class Dense : public ::testing::Test {
 protected:
  struct Rank {
    std::unique_ptr<PlanCache> plans = std::make_unique<PlanCache>();
    std::unique_ptr<PatternMemory> patterns = std::make_unique<PatternMemory>();
  };
  void SetUp() override {
    file.bytes = random_bytes(random, 6 * kPieces * kPiece);
    ranks.resize(kRanks);
  }

  // One collective write of all ranks at a displacement. Checks the file.
  void write(const Map& map, i64 displacement, Hints hints = {}) {
    hints.romio_cb_write = Toggle::kEnable;
    WriteOracle oracle(file.bytes);
    std::vector<OwnedAccess> accesses;
    for (const std::vector<i64>& pieces : map) {
      Numbers places;
      for (const i64 piece : pieces) places.push_back(piece * kPiece);
      const i64 bytes = static_cast<i64>(places.size()) * kPiece;
      const TypeSpecRef type = make_resized(0, kPieces * kPiece, make_hindexed_block(kPiece, places, byte_type()));
      accesses.push_back(make_access(Direction::kWrite, make_view(displacement, type), 0, bytes, random_memory_type(random, bytes)));
      fill_memory(random, accesses.back());
      oracle.add(accesses.back());
    }
    const bool races = kRacesAreReported && oracle.some_byte_twice();   // intended by the test; these writes use messages
    run_ranks(kRanks, [&](Comm& comm) {
      Rank& mine = ranks[static_cast<size_t>(comm.rank())];
      TestStorage storage(file);
      std::atomic<bool> dirty{false};
      EngineFile engine{&storage, &comm, &hints, nullptr, &dirty, true};
      engine.plans = mine.plans.get();
      if (!races) engine.patterns = mine.patterns.get();
      const auto arena = arena_of(comm);
      const Channel channel = channel_of(comm, operations * kTagsPerOperation, arena);
      const Access& access = accesses[static_cast<size_t>(comm.rank())].access;
      const auto moved = run(collective(engine, channel, access, {}), [&](i64 spins) { comm.backoff(spins); });
      ASSERT_TRUE(moved.ok()) << moved.error().what;
      EXPECT_EQ(*moved, access.bytes);
    }, {}, /*shared_memory=*/!races);
    ++operations;
    EXPECT_EQ(oracle.first_wrong(file.bytes), -1) << "at " << displacement;
  }
  bool all_know_one() {
    return std::all_of(ranks.begin(), ranks.end(), [](Rank& rank) { return rank.patterns->dense()[0] != 0; });
  }
  bool nobody_knows() {
    return std::all_of(ranks.begin(), ranks.end(), [](Rank& rank) { return rank.patterns->dense()[0] == 0; });
  }

  Random random{11};
  SharedFile file;
  std::vector<Rank> ranks;
  i64 operations = 0;
};

TEST_F(Dense, IsLearnedOnceAndKnownAtOtherOffsets) {
  write(in_turn(), 0);
  ASSERT_TRUE(all_know_one());
  const auto known = ranks[0].patterns->dense();
  for (const i64 displacement : {0, 512, 1024, 8, 3}) {
    write(in_turn(), displacement);
    EXPECT_EQ(ranks[0].patterns->dense(), known) << "the same pattern";
  }
}

TEST_F(Dense, HolesAreNotLearned) {
  write(dealt_by([](i64 piece) { return piece % 7 == 3 ? kRanks : piece % kRanks; }), 0);
  EXPECT_TRUE(nobody_knows());
  write(with_a_hole(), 0);
  EXPECT_TRUE(nobody_knows());
}

TEST_F(Dense, DistinguishesPatternsOfTheSameRange) {
  write(in_turn(), 0);
  ASSERT_TRUE(all_know_one());
  write(with_a_hole(), 0);
  write(with_a_hole(), 2048);
  write(in_turn(), 1024);
}

// The ranks' summaries are the same, so only their signatures tell the patterns apart.
TEST_F(Dense, IsFoundAgainAfterAnotherPatternOfTheSameSummary) {
  for (int time = 0; time < 3; ++time) {
    write(in_turn(), 512 * time);
    EXPECT_TRUE(all_know_one());
    write(with_a_hole(), 512 * time);
    write(dealt_by([](i64 piece) { return (piece + 1) % kRanks; }), 512 * time);
  }
}

TEST_F(Dense, OtherWindowsAndDomains) {
  Hints small;
  small.cb_buffer_size = 64;
  write(in_turn(), 0, small);
  small.cb_nodes = 2;
  small.cb_buffer_size = 48;
  write(in_turn(), 512, small);
  write(in_turn(), 513);
}

TEST_F(Dense, AnySequence) {
  const Map maps[] = {in_turn(), with_a_hole(), dealt_by([](i64 piece) { return (piece * 7 + piece / 5) % kRanks; }),
                      dealt_by([](i64 piece) { return piece / 16; })};
  for (int step = 0; step < 300; ++step) {
    if (pick(random, 0, 9) == 0) ranks = std::vector<Rank>(kRanks);
    write(maps[pick(random, 0, 3)], pick(random, 0, 1) ? pick(random, 0, 4) * kPieces * kPiece : pick(random, 0, 2000));
  }
}

}  // namespace
}  // namespace mercutio
