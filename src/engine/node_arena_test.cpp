#include "engine/node_arena.h"

#include <gtest/gtest.h>

#include "comm/in_process.h"
#include "engine/collectives.h"
#include "engine/messages.h"

namespace mercutio {
namespace {

template <class T>
T drive(Comm& comm, Task<T> task) {
  return run(std::move(task), [&](i64 spins) { comm.idle(spins); });
}

Channel next_channel(Comm& comm) { return Channel{&comm, 1, std::make_shared<Turn>(NodeArena::of(comm))}; }

TEST(NodeArena, NoneWithoutSharedMemory) {
  run_ranks(1, [](Comm& comm) { EXPECT_EQ(NodeArena::of(comm), nullptr); });
  run_ranks(2, [](Comm& comm) { EXPECT_EQ(NodeArena::of(comm), nullptr); }, Topology{{0, 1}, {"a", "b"}});
}

TEST(NodeArena, OneForEachNode) {
  const Topology cyclic{{0, 1, 0, 1, 0}, {"a", "b"}};
  run_ranks(5, [](Comm& comm) {
    auto arena = NodeArena::of(comm);
    ASSERT_NE(arena, nullptr);
    EXPECT_FALSE(arena->whole());
    const std::vector<i64> members(arena->members().begin(), arena->members().end());
    EXPECT_EQ(members, comm.rank() % 2 == 0 ? (std::vector<i64>{0, 2, 4}) : (std::vector<i64>{1, 3}));
    EXPECT_EQ(arena->members()[static_cast<size_t>(arena->my_place())], comm.rank());
    i64 values[] = {comm.rank()};   // small collectives go by messages there
    ASSERT_TRUE(drive(comm, all_reduce(next_channel(comm), values, Reduce::kSum)).ok());
    EXPECT_EQ(values[0], 10);
  }, cyclic);
}

TEST(NodeArena, AreasDoNotOverlap) {
  run_ranks(3, [](Comm& comm) {
    auto arena = NodeArena::of(comm);
    ASSERT_NE(arena, nullptr);
    EXPECT_EQ(arena, NodeArena::of(comm));
    EXPECT_GE(arena->area_bytes(), 19 * MiB);
    EXPECT_EQ(arena->area(2) - arena->area(1), arena->area_bytes());
    EXPECT_LE(arena->area(2) + arena->area_bytes(), comm.segment()->data() + comm.segment()->bytes());
  });
}

TEST(NodeArena, CollectivesWithoutMessages) {
  run_ranks(5, [](Comm& comm) {
    for (i64 turn = 0; turn < 200; ++turn) {
      i64 values[] = {comm.rank() + turn, -comm.rank()};
      ASSERT_TRUE(drive(comm, all_reduce(next_channel(comm), values, Reduce::kMax)).ok());
      ASSERT_EQ(values[0], 4 + turn);
      ASSERT_EQ(values[1], 0);
      i64 mine = comm.rank() + 1;
      std::vector<i64> all(5);
      ASSERT_TRUE(drive(comm, all_gather(next_channel(comm), const_bytes_of(std::span(&mine, 1)), bytes_of(std::span(all)))).ok());
      for (i64 rank = 0; rank < 5; ++rank) ASSERT_EQ(all[static_cast<size_t>(rank)], rank + 1);
    }
  });
}

// Short ones go through the node's memory, long ones by messages after it.
TEST(NodeArena, BroadcastOfAnySize) {
  run_ranks(4, [](Comm& comm) {
    for (size_t bytes : {size_t{0}, size_t{1}, size_t{952}, size_t{953}, size_t{100000}}) {
      std::vector<std::byte> data(comm.rank() == 2 ? bytes : 7, static_cast<std::byte>(comm.rank()));
      ASSERT_TRUE(drive(comm, broadcast(next_channel(comm), 2, data)).ok());
      ASSERT_EQ(data, std::vector<std::byte>(bytes, std::byte{2}));
    }
  });
}

// Operations use the arena in the order they were issued, also when the first to be driven is the last one issued.
TEST(NodeArena, TurnsKeepTheirOrder) {
  run_ranks(3, [](Comm& comm) {
    i64 first[] = {1}, second[] = {10};
    auto one = std::make_unique<Channel>(next_channel(comm)), two = std::make_unique<Channel>(next_channel(comm));
    auto unused = std::make_unique<Channel>(next_channel(comm));
    auto late = all_reduce(*two, second, Reduce::kSum);
    for (int i = 0; i < 5; ++i) ASSERT_FALSE(late.step());
    unused.reset();   // given back before its turn came
    ASSERT_TRUE(drive(comm, all_reduce(*one, first, Reduce::kSum)).ok());
    ASSERT_FALSE(two->turn->now());
    one.reset();
    ASSERT_TRUE(two->turn->now());
    ASSERT_TRUE(drive(comm, std::move(late)).ok());
    EXPECT_EQ(first[0], 3);
    EXPECT_EQ(second[0], 30);
    two.reset();
    const Channel next = next_channel(comm);
    EXPECT_TRUE(next.turn->now());
  });
}

}  // namespace
}  // namespace mercutio
