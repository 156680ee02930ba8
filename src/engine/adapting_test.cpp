// Collective accesses that mercutio_adapt carries out in several ways: the bytes are right in each, all ranks take the same, and a failure ends it.
#include <gtest/gtest.h>

#include "comm/in_process.h"
#include "engine/node_entry.h"
#include "engine/test_support.h"
#include "plan/adapter.h"

namespace mercutio {
namespace {

using namespace mercutio::testing;

struct Layer {
  i64 ranks = 4, nodes = 1;
  Topology topology() const {
    Topology topology;
    for (i64 node = 0; node < nodes; ++node) topology.node_names.push_back("node" + std::to_string(node));
    for (i64 rank = 0; rank < ranks; ++rank) topology.node_of_rank.push_back(rank * nodes / ranks);
    topology.segment_bytes = MiB;
    return topology;
  }
};

class AdaptingRank {
 public:
  AdaptingRank(Comm& comm, SharedFile& file) : storage(file), comm_(comm), arena_(NodeArena::of(comm)) {
    if (!arena_) arena_ = NodeArena::make_private(comm).value();
    file_ = EngineFile{&storage, &comm, &hints, nullptr, &dirty_, true};
    file_.plans = &plans_;
    file_.patterns = &patterns_;
    file_.run_lists = &run_lists_;
    file_.adapter = &adapter;
    file_.hints_edition = 1;
  }

  // Notes how it was carried out.
  Result<i64> move(OwnedAccess& owned) {
    const Channel channel{&comm_, 1, std::make_shared<Ticket>(*arena_)};
    Result<i64> moved = run(collective(file_, channel, owned.access, {}), [&](i64 spins) { comm_.backoff(spins); });
    history.push_back(adapter.report());
    return moved;
  }
  EngineFile& file() { return file_; }

  TestStorage storage;
  Hints hints;
  Adapter adapter{/*worth_ns=*/0};
  std::vector<std::string> history;

 private:
  Comm& comm_;
  std::shared_ptr<NodeArena> arena_;
  std::atomic<bool> dirty_{false};
  PlanCache plans_;
  PatternMemory patterns_;
  RunListCaches run_lists_;
  EngineFile file_;
};

constexpr i64 kBlock = 4096, kBlocks = 8;

// Blocks of the ranks in turn, `number` steps further on.
OwnedAccess blocks_of(Direction direction, const Comm& comm, i64 number, i64 block = kBlock) {
  const ViewRef view = make_view(comm.rank() * block, make_resized(0, block * comm.size(), make_contiguous(block, byte_type())));
  OwnedAccess owned = make_access(direction, view, number * kBlocks * block, kBlocks * block, make_contiguous(kBlocks * block, byte_type()));
  if (direction == Direction::kWrite) {
    for (size_t i = 0; i < owned.buffer.size(); ++i) owned.buffer[i] = static_cast<std::byte>(comm.rank() * 31 + number * 7 + static_cast<i64>(i) * 13 + 1);
  }
  return owned;
}

class Adapting : public ::testing::TestWithParam<Layer> {};

TEST_P(Adapting, MovesTheRightBytesAlikeOnAllRanks) {
  constexpr i64 kCalls = 40;
  SharedFile file;
  std::vector<std::vector<std::string>> histories(static_cast<size_t>(GetParam().ranks));
  run_ranks(
      GetParam().ranks,
      [&](Comm& comm) {
        AdaptingRank rank(comm, file);
        for (i64 number = 0; number < kCalls; ++number) {
          OwnedAccess written = blocks_of(Direction::kWrite, comm, number);
          const Result<i64> moved = rank.move(written);
          ASSERT_EQ(moved ? *moved : -1, kBlocks * kBlock);
          OwnedAccess read = blocks_of(Direction::kRead, comm, number);
          ASSERT_TRUE(rank.move(read).ok());
          for (i64 i = 0; i < kBlocks * kBlock; ++i) ASSERT_EQ(read.at(i), written.at(i)) << "access " << number;
        }
        histories[static_cast<size_t>(comm.rank())] = rank.history;
      },
      GetParam().topology());
  for (const auto& history : histories) EXPECT_EQ(history, histories[0]);
  EXPECT_NE(histories[0].back().find("trials"), std::string::npos) << histories[0].back();
}

// One run of each rank on one node, on storage that only copies: nothing is planned, so there is nothing to try.
TEST(AdaptingRuns, AreMovedAsWithout) {
  SharedFile file;
  run_ranks(4, [&](Comm& comm) {
    AdaptingRank rank(comm, file);
    for (i64 number = 0; number < 30; ++number) {
      OwnedAccess owned = make_access(Direction::kWrite, make_view(0, byte_type()), (number * 4 + comm.rank()) * 64, 64, make_contiguous(64, byte_type()));
      ASSERT_TRUE(rank.move(owned).ok());
    }
    EXPECT_EQ(rank.storage.counts.writes, 30);
    EXPECT_EQ(rank.adapter.report(), "");
  });
}

TEST_P(Adapting, EndsWithAFailure) {
  SharedFile file;
  run_ranks(
      GetParam().ranks,
      [&](Comm& comm) {
        AdaptingRank rank(comm, file);
        i64 failed = 0;
        for (i64 number = 0; number < 30; ++number) {
          rank.storage.fail_at = number == 6 ? rank.storage.counts.operations.load() : -1;
          OwnedAccess written = blocks_of(Direction::kWrite, comm, number);
          failed += rank.move(written).ok() ? 0 : 1;
        }
        EXPECT_EQ(failed, 1);
        EXPECT_FALSE(rank.adapter.searches(Direction::kWrite));
        EXPECT_TRUE(rank.adapter.winner() == std::nullopt);
        EXPECT_NE(rank.adapter.report().find("failed"), std::string::npos);
      },
      GetParam().topology());
}

TEST_P(Adapting, ChangedHintsBeginAgain) {
  SharedFile file;
  run_ranks(
      GetParam().ranks,
      [&](Comm& comm) {
        AdaptingRank rank(comm, file);
        for (i64 number = 0; number < 12; ++number) {
          OwnedAccess written = blocks_of(Direction::kWrite, comm, number);
          ASSERT_TRUE(rank.move(written).ok());
        }
        rank.hints.cb_nodes = 1;
        ++rank.file().hints_edition;
        rank.file().fixed_hints.aggregators = true;
        OwnedAccess written = blocks_of(Direction::kWrite, comm, 12);
        ASSERT_TRUE(rank.move(written).ok());
        EXPECT_EQ(rank.adapter.report(), "") << "nothing was tried yet";
      },
      GetParam().topology());
}

INSTANTIATE_TEST_SUITE_P(Nodes, Adapting, ::testing::Values(Layer{4, 1}, Layer{8, 4}, Layer{3, 3}));

}  // namespace
}  // namespace mercutio
