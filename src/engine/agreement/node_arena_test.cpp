#include "engine/agreement/node_arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "comm/in_process.h"
#include "engine/agreement/collectives.h"
#include "engine/agreement/messages.h"
#include "engine/test_support.h"

namespace mercutio {
namespace {

using namespace mercutio::testing;

Channel next_channel(Comm& comm) { return Channel{&comm, 1, std::make_shared<Ticket>(*NodeArena::of(comm))}; }

Channel channel_on_any_nodes(Comm& comm) { return NodeArena::of(comm) ? next_channel(comm) : Channel{&comm, 1}; }

TEST(NodeArena, NotCreatedWithoutSharedMemory) {
  run_ranks(1, [](Comm& comm) { EXPECT_EQ(NodeArena::of(comm), nullptr); });
  run_ranks(2, [](Comm& comm) { EXPECT_EQ(NodeArena::of(comm), nullptr); }, Topology{{0, 1}, {"a", "b"}});
}

TEST(NodeArena, CreatedForEachNode) {
  const Topology cyclic{{0, 1, 0, 1, 0}, {"a", "b"}};
  run_ranks(5, [](Comm& comm) {
    auto arena = NodeArena::of(comm);
    ASSERT_NE(arena, nullptr);
    EXPECT_FALSE(arena->whole());
    const std::vector<i64> members(arena->members().begin(), arena->members().end());
    EXPECT_EQ(members, comm.rank() % 2 == 0 ? (std::vector<i64>{0, 2, 4}) : (std::vector<i64>{1, 3}));
    EXPECT_EQ(arena->members()[static_cast<size_t>(arena->my_index())], comm.rank());
    i64 values[] = {comm.rank()};   // small collectives use messages there
    ASSERT_TRUE(drive(comm, all_reduce(next_channel(comm), values, Reduce::kMax)).ok());
    EXPECT_EQ(values[0], 4);
  }, cyclic);
}

TEST(NodeArena, AreasDoNotOverlap) {
  run_ranks(3, [](Comm& comm) {
    auto arena = NodeArena::of(comm);
    ASSERT_NE(arena, nullptr);
    EXPECT_EQ(arena, NodeArena::of(comm));
    EXPECT_GE(arena->area_bytes(), 19 * MiB);
    EXPECT_EQ(arena->area(2) - arena->area(1), arena->area_bytes());
    EXPECT_LE(arena->area(2) + arena->area_bytes(), comm.segment()->data() + 3 * kSegmentBytesPerRank);
  });
}

// One rank of a job of any size, with the memory of its node, and without messages.
class LargeJob final : public Comm {
 public:
  LargeJob(i64 ranks, i64 per_node) {
    for (i64 rank = 0; rank < ranks; ++rank) topology_.node_of_rank.push_back(rank / per_node);
    topology_.node_names.resize(static_cast<size_t>((ranks + per_node - 1) / per_node), "n");
    topology_.segment_bytes = kSegmentBytesPerRank;
    segment_.size = per_node * kSegmentBytesPerRank;
    segment_.at = mmap(nullptr, static_cast<size_t>(segment_.size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  i64 rank() const override { return 0; }
  i64 size() const override { return topology_.ranks(); }
  Result<std::unique_ptr<Message>> send(i64, i64, ConstBytes) override { return Error{ErrorClass::kIntern, "alone"}; }
  Result<std::unique_ptr<Message>> receive(i64, i64, Bytes) override { return Error{ErrorClass::kIntern, "alone"}; }
  i64 tags() const override { return 64; }
  const Topology& topology() const override { return topology_; }
  std::string host() const override { return "n"; }
  bool concurrent() const override { return false; }
  Result<std::unique_ptr<SharedCounter>> make_shared_counter(const std::string&) override { return Error{ErrorClass::kIntern, "alone"}; }
  Segment* segment() override { return &segment_; }
  void backoff(i64) override {}

 private:
  struct Memory final : Segment {
    ~Memory() override { munmap(at, static_cast<size_t>(size)); }
    std::byte* data() override { return static_cast<std::byte*>(at); }
    void wake(i64) override {}
    void* at = nullptr;
    i64 size = 0;
  };
  Topology topology_;
  Memory segment_;
};

TEST(NodeArena, AreasShrinkWithMoreRanksAndStayInTheSegment) {
  for (i64 ranks : {100, 64000, 66000, 140000, 300000}) {
    SCOPED_TRACE(ranks);
    LargeJob job(ranks, 2);
    auto arena = NodeArena::of(job);
    ASSERT_NE(arena, nullptr);
    EXPECT_GT(arena->room_bytes(), 0);
    EXPECT_LE(kAreaCounterBytes + 2 * arena->room_bytes(), arena->area_bytes());
    EXPECT_EQ(arena->room_bytes() >= 8 * MiB, ranks <= 64000) << arena->room_bytes();
    EXPECT_GE(arena->area(0), reinterpret_cast<std::byte*>(arena->requested(ranks - 1) + 2));
    EXPECT_LE(arena->area(1) + arena->area_bytes(), job.segment()->data() + 2 * kSegmentBytesPerRank);
  }
}

TEST(NodeArena, NoneIfCountersLeaveNoRoom) {
  LargeJob job(500000, 2);
  EXPECT_EQ(NodeArena::of(job), nullptr);
}

// Contributions that fit the cache line of a rank, the largest of them, and others, also where the one before was of the other kind.
TEST(NodeArena, GathersContributionsOfAllSizes) {
  run_ranks(3, [](Comm& comm) {
    for (const size_t bytes : {1, 8, 55, 56, 57, 56, 960, 56, 960, 959, 3}) {
      std::vector<std::byte> all(bytes * 3), expected;
      for (int rank = 0; rank < 3; ++rank)
        for (size_t i = 0; i < bytes; ++i) expected.push_back(static_cast<std::byte>(i * 7 + bytes + static_cast<size_t>(rank)));
      const ConstBytes mine = std::span(expected).subspan(bytes * static_cast<size_t>(comm.rank()), bytes);
      ASSERT_TRUE(drive(comm, all_gather(next_channel(comm), mine, all)).ok());
      EXPECT_EQ(all, expected);
    }
  });
}

TEST(NodeArena, CollectivesWithoutMessages) {
  run_ranks(5, [](Comm& comm) {
    for (i64 ticket = 0; ticket < 200; ++ticket) {
      i64 values[] = {comm.rank() + ticket, -comm.rank()};
      ASSERT_TRUE(drive(comm, all_reduce(next_channel(comm), values, Reduce::kMax)).ok());
      ASSERT_EQ(values[0], 4 + ticket);
      ASSERT_EQ(values[1], 0);
      i64 mine = comm.rank() + 1;
      std::vector<i64> all(5);
      ASSERT_TRUE(drive(comm, all_gather(next_channel(comm), const_bytes_of(std::span(&mine, 1)), bytes_of(std::span(all)))).ok());
      for (i64 rank = 0; rank < 5; ++rank) ASSERT_EQ(all[static_cast<size_t>(rank)], rank + 1);
    }
  });
}

// In each round one of them returns its ticket before its turn.
TEST(NodeArena, ThreadsOfARankTakeTurns) {
  constexpr i64 kThreads = 4, kRounds = 20000;
  run_ranks(2, [](Comm& comm) {
    auto arena = NodeArena::of(comm);
    std::atomic<i64> inside{0};
    i64 turns = 0;   // of whoever holds the current ticket
    std::vector<std::thread> threads;
    for (i64 thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (i64 round = 0; round < kRounds; ++round) {
          const Ticket ticket(*arena);
          if (round % kThreads == thread) continue;
          while (!ticket.is_current()) std::this_thread::yield();
          EXPECT_EQ(inside.fetch_add(1), 0);
          ++turns;
          inside.fetch_sub(1);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(turns, (kThreads - 1) * kRounds);
    EXPECT_TRUE(Ticket(*arena).is_current());
  });
}

// Two levels: nodes with one and with several ranks, whose ranks are not contiguous.
TEST(NodeArena, CollectivesOfSeveralNodes) {
  const Topology cyclic{{0, 1, 2, 1, 0, 0, 1}, {"a", "b", "c"}};
  run_ranks(7, [](Comm& comm) {
    for (i64 ticket = 0; ticket < 100; ++ticket) {
      i64 values[] = {comm.rank() + ticket, -comm.rank()};
      ASSERT_TRUE(drive(comm, all_reduce(next_channel(comm), values, Reduce::kMax)).ok());
      ASSERT_EQ(values[0], 6 + ticket);
      ASSERT_EQ(values[1], 0);
      i64 mine[2] = {comm.rank() + 1, ticket};
      std::vector<i64> all(14);
      ASSERT_TRUE(drive(comm, all_gather(next_channel(comm), const_bytes_of(std::span<i64>(mine)), bytes_of(std::span(all)))).ok());
      for (i64 rank = 0; rank < 7; ++rank) {
        ASSERT_EQ(all[static_cast<size_t>(2 * rank)], rank + 1);
        ASSERT_EQ(all[static_cast<size_t>(2 * rank + 1)], ticket);
      }
      const i64 root = ticket % 7;
      const size_t bytes = ticket % 5 == 0 ? 5000 : static_cast<size_t>(ticket);
      std::vector<std::byte> data(comm.rank() == root ? bytes : 3, static_cast<std::byte>(comm.rank()));
      ASSERT_TRUE(drive(comm, broadcast(next_channel(comm), root, data)).ok());
      ASSERT_EQ(data, std::vector<std::byte>(bytes, static_cast<std::byte>(root)));
      Status failed = comm.rank() >= root ? Status(Error{ErrorClass::kNoSpace, "disk full", 28}) : ok_status();
      const Status agreed = drive(comm, agree(next_channel(comm), failed));
      ASSERT_FALSE(agreed.ok());
      ASSERT_EQ(agreed.error().what.rfind("disk full (rank " + std::to_string(root), 0), 0u);
    }
  }, cyclic);
}

// Short data is broadcast in the node's memory, long data by additional messages.
TEST(NodeArena, BroadcastOfAnySize) {
  run_ranks(4, [](Comm& comm) {
    for (size_t bytes : {size_t{0}, size_t{1}, size_t{952}, size_t{953}, size_t{100000}}) {
      std::vector<std::byte> data(comm.rank() == 2 ? bytes : 7, static_cast<std::byte>(comm.rank()));
      ASSERT_TRUE(drive(comm, broadcast(next_channel(comm), 2, data)).ok());
      ASSERT_EQ(data, std::vector<std::byte>(bytes, std::byte{2}));
    }
  });
}

// From rank 0, which waits for nobody the first time after a gather, and late ranks get what was meant for them.
TEST(NodeArena, BroadcastsFromTheFirstRankInARow) {
  for (const Topology& topology : {Topology{}, Topology{{0, 1, 0, 1}, {"a", "b"}}, Topology{{0, 1, 2, 3}, {"a", "b", "c", "d"}}}) {
    run_ranks(4, [](Comm& comm) {
      for (i64 round = 0; round < 100; ++round) {
        const size_t bytes = round % 9 == 0 ? 300000 : static_cast<size_t>(37 * round);
        std::vector<std::byte> data(comm.rank() == 0 ? bytes : 7, static_cast<std::byte>(comm.rank() == 0 ? round : 200));
        if (round % 4 == comm.rank()) std::this_thread::sleep_for(std::chrono::microseconds(50));
        ASSERT_TRUE(drive(comm, broadcast(channel_on_any_nodes(comm), 0, data)).ok());
        ASSERT_EQ(data, std::vector<std::byte>(bytes, static_cast<std::byte>(round)));
        if (round % 3 == 0) {
          ASSERT_TRUE(drive(comm, agree(channel_on_any_nodes(comm), ok_status())).ok());
        }
      }
    }, topology);
  }
}

// Rank 0 acts when all have come, and nobody goes on before.
TEST(NodeArena, RankZeroActsInTheMiddle) {
  for (const Topology& topology : {Topology{}, Topology{{0, 1, 0, 1, 2}, {"a", "b", "c"}}, Topology{{1, 0, 1, 0, 0}, {"a", "b"}}, Topology{{0, 1, 2, 3, 4}, {"a", "b", "c", "d", "e"}}}) {
    std::atomic<i64> come{0}, acted{0};
    run_ranks(5, [&](Comm& comm) {
      for (i64 round = 1; round <= 60; ++round) {
        const i64 failing = round % 7;   // 5: rank 0's action; 6: nothing
        Status mine = failing == comm.rank() ? Status(Error{ErrorClass::kNoSpace, "disk full", 28}) : ok_status();
        i64 values[] = {comm.rank() + round, -comm.rank()};
        const ActionOfRankZero act = [&](bool all_ok) -> Status {
          EXPECT_EQ(comm.rank(), 0);
          EXPECT_EQ(come, 5 * round);
          EXPECT_EQ(all_ok, failing >= 5);
          EXPECT_EQ(values[1], -4);
          values[0] = 1000 + round;
          ++acted;
          return failing == 5 ? Status(Error{ErrorClass::kReadOnly, "no"}) : ok_status();
        };
        ++come;
        const Status agreed = drive(comm, agree_after(channel_on_any_nodes(comm), std::move(mine), values, act));
        EXPECT_GE(acted, round);
        EXPECT_EQ(values[0], 1000 + round);
        ASSERT_EQ(agreed.ok(), failing == 6);
        if (!agreed) {
          ASSERT_EQ(agreed.error().cls, failing == 5 ? ErrorClass::kReadOnly : ErrorClass::kNoSpace);
        }
      }
    }, topology);
    EXPECT_EQ(acted, 60);
  }
}

// Operations use the arena in the order of their tickets, even if the last one issued is driven first.
TEST(NodeArena, OperationsRunInTicketOrder) {
  run_ranks(3, [](Comm& comm) {
    i64 first[] = {1 + comm.rank()}, second[] = {10 + comm.rank()};
    auto one = std::make_unique<Channel>(next_channel(comm)), two = std::make_unique<Channel>(next_channel(comm));
    auto unused = std::make_unique<Channel>(next_channel(comm));
    auto late = all_reduce(*two, second, Reduce::kMax);
    for (int i = 0; i < 5; ++i) ASSERT_FALSE(late.step());
    unused.reset();   // returned before its ticket was current
    ASSERT_TRUE(drive(comm, all_reduce(*one, first, Reduce::kMin)).ok());
    ASSERT_FALSE(two->ticket->is_current());
    one.reset();
    ASSERT_TRUE(two->ticket->is_current());
    ASSERT_TRUE(drive(comm, std::move(late)).ok());
    EXPECT_EQ(first[0], 1);
    EXPECT_EQ(second[0], 12);
    two.reset();
    const Channel next = next_channel(comm);
    EXPECT_TRUE(next.ticket->is_current());
  });
}

}  // namespace
}  // namespace mercutio
