#include "engine/io/sieve_gate.h"

#include <gtest/gtest.h>

#include <mutex>

#include "comm/in_process.h"

namespace mercutio {
namespace {

TEST(SieveGate, IsOpenUntilARankSieves) {
  SieveGate gate(nullptr);
  EXPECT_TRUE(SieveGate::Pass(gate, 1, nullptr).given());
  auto closed = gate.close(std::make_unique<NoLock>());
  ASSERT_NE(closed, nullptr);
  EXPECT_FALSE(SieveGate::Pass(gate, 1, nullptr).given());
  auto again = gate.close(nullptr);
  ASSERT_NE(again, nullptr) << "two ranks may sieve";
  closed = nullptr;
  EXPECT_FALSE(SieveGate::Pass(gate, 1, nullptr).given());
  again = nullptr;
  EXPECT_TRUE(SieveGate::Pass(gate, 1, nullptr).given());
}

TEST(SieveGate, StaysOpenIfAWriteDoesNotEnd) {
  SieveGate gate(nullptr);
  {
    const SieveGate::Pass pass(gate, 1, nullptr);
    ASSERT_TRUE(pass.given());
    EXPECT_EQ(gate.close(nullptr), nullptr);
    EXPECT_TRUE(SieveGate::Pass(gate, 1, nullptr).given());
  }
  EXPECT_NE(gate.close(nullptr), nullptr);
}

TEST(SieveGate, IsNotAwaitedIfARankHasDied) {
  SieveGate gate(nullptr);
  const SieveGate::Pass pass(gate, 1, nullptr);
  const i64 begin = now_ns();
  for (i64 i = 0; i < 1000; ++i) EXPECT_EQ(gate.close(nullptr, /*patiently=*/false), nullptr);
  EXPECT_LT(now_ns() - begin, 5'000'000'000);
}

// All ranks write words of their own, and each now and then reads and writes back those of all, as sieving does.
TEST(SieveGate, NoWriteIsLost) {
  constexpr i64 kRanks = 4, kWrites = 20'000, kBetweenSieves = 64;
  std::mutex range;
  volatile i64 words[kRanks] = {};
  std::atomic<i64> passes{0}, sieves{0};
  run_ranks(kRanks, [&](Comm& comm) {
    SieveGate gate(NodeArena::of(comm));
    for (i64 i = 1; i <= kWrites; ++i) {
      if (i % kBetweenSieves == comm.rank()) {
        if (const auto closed = gate.close(nullptr)) {
          std::lock_guard lock(range);
          i64 read[kRanks];
          for (i64 rank = 0; rank < kRanks; ++rank) read[rank] = words[rank];
          for (i64 rank = 0; rank < kRanks; ++rank) words[rank] = read[rank];
          ++sieves;
        }
      }
      const SieveGate::Pass pass(gate, 1, nullptr);
      std::unique_lock lock(range, std::defer_lock);
      if (!pass.given()) lock.lock();
      ASSERT_EQ(words[comm.rank()], i - 1);
      words[comm.rank()] = i;
      if (pass.given()) ++passes;
    }
  });
  EXPECT_GT(passes, 0);
  EXPECT_GT(sieves, 0);
}

}  // namespace
}  // namespace mercutio
