// Layouts by range: all ranks use that of rank 0, which is sent only when it has changed.
#include "plan/layout_known.h"

#include <gtest/gtest.h>

#include "comm/in_process.h"
#include "engine/engine.h"
#include "engine/test_support.h"

namespace mercutio {
namespace {

using namespace mercutio::testing;

constexpr i64 kRanks = 4, kBlock = 16, kBlocks = 40;

Layout progressive(i64 second_count) {
  Layout layout;
  layout.stripe_bytes = 64, layout.stripe_count = 1;
  for (const auto& [begin, end, bytes, count] : {std::tuple<i64, i64, i64, i64>{0, 300, 64, 1}, {300, 1500, 64, 2}, {1500, kEndOfFile, 128, second_count}}) {
    LayoutComponent component;
    component.begin = begin, component.end = end, component.stripe_bytes = bytes, component.stripe_count = count;
    layout.components.push_back(component);
  }
  return layout;
}

class LayoutsByRange : public ::testing::Test {
 protected:
  struct Rank {
    PlanCache plans;
    LayoutKnown layout;
    i64 operations = 0;
    i64 messages = 0;
  };

  // A collective write of interleaved blocks. Returns the number of messages of all ranks, which share no memory.
  i64 write() {
    Hints hints;
    hints.romio_cb_write = Toggle::kEnable;
    WriteOracle oracle(file.bytes);
    std::vector<OwnedAccess> accesses;
    for (i64 rank = 0; rank < kRanks; ++rank) {
      const TypeSpecRef type = make_resized(0, kRanks * kBlock, make_contiguous(kBlock, byte_type()));
      accesses.push_back(make_access(Direction::kWrite, make_view(rank * kBlock, type), 0, kBlock * kBlocks, random_memory_type(random, kBlock * kBlocks)));
      fill_memory(random, accesses.back());
      oracle.add(accesses.back());
    }
    run_ranks(kRanks, [&](Comm& comm) {
      Rank& mine = ranks[static_cast<size_t>(comm.rank())];
      TestStorage storage(file);
      std::atomic<bool> dirty{false};
      Counters counters;
      EngineFile engine{&storage, &comm, &hints, nullptr, &dirty, true};
      engine.plans = &mine.plans;
      engine.layout = &mine.layout;
      engine.counters = &counters;
      const auto arena = arena_of(comm);
      const Channel channel = channel_of(comm, mine.operations++ * kTagsPerOperation, arena);
      const Access& access = accesses[static_cast<size_t>(comm.rank())].access;
      const auto moved = run(collective(engine, channel, access, {}), [&](i64 spins) { comm.backoff(spins); });
      ASSERT_TRUE(moved.ok()) << moved.error().what;
      mine.messages = counters.messages;
    }, {}, /*shared_memory=*/false);
    EXPECT_EQ(oracle.first_wrong(file.bytes), -1);
    i64 messages = 0;
    for (const Rank& rank : ranks) messages += rank.messages;
    return messages;
  }
  bool all_hold(std::uint64_t key) {
    return std::all_of(ranks.begin(), ranks.end(), [&](Rank& rank) { return rank.layout.held().key == key; });
  }

  Random random{5};
  SharedFile file;
  std::array<Rank, kRanks> ranks;
};

TEST_F(LayoutsByRange, AreSentOnceAndOnChange) {
  file.layout = progressive(2);
  write();
  const std::uint64_t first = ranks[0].layout.held().key;
  EXPECT_NE(first, 0U);
  EXPECT_TRUE(all_hold(first));
  const i64 known = write();
  EXPECT_EQ(write(), known) << "nothing new to be said";
  file.layout = progressive(4);
  write();
  const std::uint64_t second = ranks[0].layout.held().key;
  EXPECT_NE(second, first);
  EXPECT_TRUE(all_hold(second));
  write();
  file.layout = {};
  file.layout.stripe_bytes = 64, file.layout.stripe_count = 2;   // the same throughout the file: nothing is sent
  write();
  EXPECT_EQ(ranks[0].layout.held().key, 0U);
}

TEST_F(LayoutsByRange, AreSentToARankWithAnOutdatedCopy) {
  file.layout = progressive(2);
  write();
  const std::uint64_t key = ranks[0].layout.held().key;
  ranks[2].layout.hold(progressive(7));
  write();
  EXPECT_TRUE(all_hold(key));
}

TEST(LayoutByRange, MalformedBytesDecodeToNull) {
  EXPECT_EQ(ranges_of_bytes({}), nullptr);
  const auto good = std::make_shared<const std::vector<StripeRange>>(std::vector<StripeRange>{{0, 10, 1, 1}, {10, kEndOfFile, 2, 3}});
  auto bytes = bytes_of_ranges(good);
  ASSERT_NE(ranges_of_bytes(bytes), nullptr);
  EXPECT_EQ(*ranges_of_bytes(bytes), *good);
  bytes.pop_back();
  EXPECT_EQ(ranges_of_bytes(bytes), nullptr);
  for (const StripeRange bad : {StripeRange{11, kEndOfFile, 2, 3}, {10, 20, 2, 3}, {10, kEndOfFile, 0, 3}, {10, kEndOfFile, 2, -1}}) {
    EXPECT_EQ(ranges_of_bytes(bytes_of_ranges(std::make_shared<const std::vector<StripeRange>>(std::vector<StripeRange>{{0, 10, 1, 1}, bad}))), nullptr);
  }
}

}  // namespace
}  // namespace mercutio
