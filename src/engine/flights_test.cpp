#include "engine/flights.h"

#include <gtest/gtest.h>

#include "engine/test_support.h"
#include "storage/throttled.h"

namespace mercutio {
namespace {

using namespace mercutio::testing;

constexpr i64 kBytes = 8;

struct Bench {
  explicit Bench(i64 latency_ns) : under(std::make_unique<TestStorage>(file)) {
    counted = under.get();
    storage = make_throttled(std::move(under), {.bytes_per_second = 0, .latency_ns = latency_ns});
    engine_file.storage = storage.get();
    engine_file.dirty = &dirty;
  }
  SharedFile file;
  std::unique_ptr<TestStorage> under;
  TestStorage* counted = nullptr;
  std::unique_ptr<Storage> storage;
  std::atomic<bool> dirty{false};
  EngineFile engine_file;
};

Flights::Landed wait_for_one(Flights& flights) {
  auto landed = flights.land();
  while (!landed) landed = flights.land();
  return std::move(*landed);
}

TEST(Flights, WhereTheStorageIsFastEverythingIsDoneAtOnce) {
  Bench bench(0);
  std::vector<std::byte> data(kBytes * 10, std::byte{7});
  Flights flights(bench.engine_file, Direction::kWrite);
  for (i64 window = 0; window < 10; ++window) {
    flights.start(window, IoPiece{window * kBytes, data.data() + window * kBytes, kBytes});
    EXPECT_EQ(flights.first_window(), window);
    auto landed = flights.land();
    ASSERT_TRUE(landed) << "it was carried out in start()";
    EXPECT_EQ(*landed->moved, kBytes);
  }
  EXPECT_FALSE(flights.beside());
  EXPECT_TRUE(bench.dirty);
  EXPECT_EQ(bench.file.bytes, data);
}

TEST(Flights, WhereItIsSlowTheyGoOnBesideAndLandInOrder) {
  Bench bench(1'000'000);
  bench.file.bytes.assign(kBytes * 3 + 3, std::byte{5});
  std::vector<std::byte> data(kBytes * 4);
  Flights flights(bench.engine_file, Direction::kRead);
  flights.start(0, IoPiece{0, data.data(), kBytes});
  EXPECT_TRUE(flights.beside()) << "the first one slept";
  for (i64 window = 1; window < 4; ++window) flights.start(window, IoPiece{window * kBytes, data.data() + window * kBytes, kBytes});
  for (i64 window = 0; window < 4; ++window) {
    EXPECT_EQ(flights.first_window(), window);
    const auto landed = wait_for_one(flights);
    EXPECT_EQ(landed.window, window);
    EXPECT_EQ(*landed.moved, window < 3 ? kBytes : 3) << "the file ends there";
  }
  EXPECT_TRUE(flights.empty());
  EXPECT_FALSE(flights.land());
}

TEST(Flights, AFailureIsThatOfItsWindow) {
  Bench bench(1'000'000);
  std::vector<std::byte> data(kBytes * 4);
  Flights flights(bench.engine_file, Direction::kWrite);
  bench.counted->fail_at = 2;
  for (i64 window = 0; window < 4; ++window) flights.start(window, IoPiece{window * kBytes, data.data() + window * kBytes, kBytes});
  for (i64 window = 0; window < 4; ++window) EXPECT_EQ(wait_for_one(flights).moved.ok(), window != 2) << window;
}

TEST(Flights, AreOverWhenTheyAreGivenUp) {
  Bench bench(1'000'000);
  std::vector<std::byte> data(kBytes * 3, std::byte{9});
  {
    Flights flights(bench.engine_file, Direction::kWrite);
    for (i64 window = 0; window < 3; ++window) flights.start(window, IoPiece{window * kBytes, data.data() + window * kBytes, kBytes});
  }
  EXPECT_EQ(bench.file.bytes, data);
}

}  // namespace
}  // namespace mercutio
