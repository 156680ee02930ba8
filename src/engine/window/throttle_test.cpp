// With a throttle, the number of concurrent requests at a server is limited.
#include "engine/window/throttle.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>

#include "comm/in_process.h"
#include "engine/test_support.h"

namespace mercutio {
namespace {

using namespace mercutio::testing;

constexpr i64 kRanks = 4, kServers = 2, kStripe = 64, kStripes = 48;

// The accesses to the servers of a file, over all ranks.
struct Servers {
  std::array<std::atomic<i64>, kServers> now{}, most{};
  std::atomic<i64> requests{0};
};

class CountingStorage final : public TestStorage {
 public:
  CountingStorage(SharedFile& file, Servers& servers) : TestStorage(file), servers_(servers) {}
  Result<i64> read(std::span<const IoPiece> pieces) override {
    return counted(pieces, [&] { return TestStorage::read(pieces); });
  }
  Result<i64> write(std::span<const IoPiece> pieces) override {
    return counted(pieces, [&] { return TestStorage::write(pieces); });
  }
  Layout layout() override { return Layout{kStripe, kServers, 0, 0}; }

 private:
  template <class Move>
  Result<i64> counted(std::span<const IoPiece> pieces, Move move) {
    const auto server = static_cast<size_t>(pieces[0].offset / kStripe % kServers);
    const i64 now = ++servers_.now[server];
    for (i64 most = servers_.most[server]; most < now && !servers_.most[server].compare_exchange_weak(most, now);) {
    }
    ++servers_.requests;
    std::this_thread::sleep_for(std::chrono::microseconds(300));   // long enough for other accesses to overlap
    Result<i64> moved = move();
    --servers_.now[server];
    return moved;
  }
  Servers& servers_;
};

class ThrottleLimits : public ::testing::TestWithParam<std::tuple<WantedExchange, i64>> {};

TEST_P(ThrottleLimits, LimitsConcurrentRequestsPerServer) {
  const auto& [exchange, limit] = GetParam();
  for (const Direction direction : {Direction::kWrite, Direction::kRead}) {
    SharedFile file;
    file.bytes.resize(kStripe * kStripes);
    Servers servers;
    Hints hints;
    hints.romio_cb_read = hints.romio_cb_write = Toggle::kEnable;
    hints.cb_nodes = kRanks;
    hints.romio_lustre_co_ratio = kRanks / kServers;
    hints.mercutio_exchange = exchange;
    hints.mercutio_throttle = limit;
    run_ranks(kRanks, [&](Comm& comm) {
      CountingStorage storage(file, servers);
      std::atomic<bool> dirty{false};
      EngineFile engine_file{&storage, &comm, &hints, nullptr, &dirty, true};
      const auto type = make_resized(0, 8 * kRanks, make_contiguous(8, byte_type()));
      const i64 bytes = kStripe * kStripes / kRanks;
      OwnedAccess owned = make_access(direction, make_view(8 * comm.rank(), type), 0, bytes, make_contiguous(bytes, byte_type()));
      const auto arena = arena_of(comm);
      auto moved = run(collective(engine_file, channel_of(comm, 0, arena), owned.access, {}), [&](i64 spins) { comm.backoff(spins); });
      ASSERT_TRUE(moved.ok()) << moved.error().what;
      ASSERT_EQ(*moved, bytes);
    }, Topology{{0, 0, 1, 1}, {"a", "b"}}, /*shared_memory=*/exchange != WantedExchange::kMessages);
    EXPECT_GE(servers.requests, kStripes);
    for (const auto& most : servers.most) {
      EXPECT_LE(most, limit);
      EXPECT_GE(most, 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Exchanges, ThrottleLimits, ::testing::Combine(::testing::Values(WantedExchange::kMessages, WantedExchange::kTwoLayer), ::testing::Values(1, 2)),
                         [](const auto& info) {
                           return word_of(std::get<0>(info.param)) + "_" + std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace mercutio
