#include "engine/window/pending_io.h"

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

PendingIo::Completed wait_for_one(PendingIo& pending) {
  auto completed = pending.next_completed();
  while (!completed) completed = pending.next_completed();
  return std::move(*completed);
}

TEST(PendingIo, FastStorageRunsEveryTransferInStart) {
  Bench bench(0);
  std::vector<std::byte> data(kBytes * 10, std::byte{7});
  PendingIo pending(bench.engine_file, Direction::kWrite);
  for (i64 window = 0; window < 10; ++window) {
    pending.start(window, IoPiece{window * kBytes, data.data() + window * kBytes, kBytes});
    EXPECT_EQ(pending.first_window(), window);
    auto completed = pending.next_completed();
    ASSERT_TRUE(completed) << "it was carried out in start()";
    EXPECT_EQ(*completed->moved, kBytes);
  }
  EXPECT_FALSE(pending.overlaps());
  EXPECT_TRUE(bench.dirty);
  EXPECT_EQ(bench.file.bytes, data);
}

// A sync may take the flag while a transfer goes on.
TEST(PendingIo, WritesAreNotedWhenTheyAreOver) {
  Bench bench(1'000'000);
  std::vector<std::byte> data(kBytes * 2, std::byte{7});
  PendingIo pending(bench.engine_file, Direction::kWrite);
  for (i64 window = 0; window < 2; ++window) {
    pending.start(window, IoPiece{window * kBytes, data.data() + window * kBytes, kBytes});
    bench.dirty = false;
    EXPECT_EQ(*wait_for_one(pending).moved, kBytes);
    EXPECT_TRUE(bench.dirty);
  }
}

TEST(PendingIo, WritesOfAnExchangeThatFailsAreNoted) {
  Bench bench(1'000'000);
  std::vector<std::byte> data(kBytes * 2, std::byte{7});
  {
    PendingIo pending(bench.engine_file, Direction::kWrite);
    pending.start(0, IoPiece{0, data.data(), kBytes});
    (void)wait_for_one(pending);
    pending.start(1, IoPiece{kBytes, data.data() + kBytes, kBytes});
    bench.dirty = false;
  }
  EXPECT_TRUE(bench.dirty);
}

TEST(PendingIo, SlowStorageRunsTransfersConcurrentlyAndCompletesInOrder) {
  Bench bench(1'000'000);
  bench.file.bytes.assign(kBytes * 3 + 3, std::byte{5});
  std::vector<std::byte> data(kBytes * 4);
  PendingIo pending(bench.engine_file, Direction::kRead);
  pending.start(0, IoPiece{0, data.data(), kBytes});
  EXPECT_TRUE(pending.overlaps()) << "the first one slept";
  for (i64 window = 1; window < 4; ++window) pending.start(window, IoPiece{window * kBytes, data.data() + window * kBytes, kBytes});
  for (i64 window = 0; window < 4; ++window) {
    EXPECT_EQ(pending.first_window(), window);
    const auto completed = wait_for_one(pending);
    EXPECT_EQ(completed.window, window);
    EXPECT_EQ(*completed.moved, window < 3 ? kBytes : 3) << "the file ends there";
  }
  EXPECT_TRUE(pending.empty());
  EXPECT_FALSE(pending.next_completed());
}

TEST(PendingIo, AnErrorBelongsToItsWindow) {
  Bench bench(1'000'000);
  std::vector<std::byte> data(kBytes * 4);
  PendingIo pending(bench.engine_file, Direction::kWrite);
  bench.counted->fail_at = 2;
  for (i64 window = 0; window < 4; ++window) pending.start(window, IoPiece{window * kBytes, data.data() + window * kBytes, kBytes});
  for (i64 window = 0; window < 4; ++window) EXPECT_EQ(wait_for_one(pending).moved.ok(), window != 2) << window;
}

TEST(PendingIo, DestructionWaitsForTransfers) {
  Bench bench(1'000'000);
  std::vector<std::byte> data(kBytes * 3, std::byte{9});
  {
    PendingIo pending(bench.engine_file, Direction::kWrite);
    for (i64 window = 0; window < 3; ++window) pending.start(window, IoPiece{window * kBytes, data.data() + window * kBytes, kBytes});
  }
  EXPECT_EQ(bench.file.bytes, data);
}

}  // namespace
}  // namespace mercutio
