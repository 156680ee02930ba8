// Reads in advance where each read is a round trip.
#include "storage/read_ahead.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "storage/cache_test_support.h"

namespace mercutio {
namespace {

class ReadAheadTest : public CacheTest {};

TEST_F(ReadAheadTest, ReadsAheadAreUnderWayTogetherAndMayBeDropped) {
  i64 waiting = 0, most = 0;
  std::vector<std::byte> all(4 * MiB, std::byte{3});
  auto file = plain();
  ASSERT_TRUE(write(*file, 0, all));
  auto storage = make_cached(std::make_unique<Distant>(plain(), waiting, most), pipelined(0, 2 * MiB));
  for (i64 i = 0; i < 30; ++i) ASSERT_EQ(read(*storage, 5000 * i, 5000).size(), 5000u);
  EXPECT_GT(most, 3);
  ASSERT_EQ(read(*storage, 3 * MiB, 5000).size(), 5000u);
  ASSERT_TRUE(storage->close().ok());
  EXPECT_EQ(waiting, 0);
}

// Backwards, and with gaps both ways.
TEST_F(ReadAheadTest, ReadsAtEqualDistancesAreUnderWayTogether) {
  std::vector<std::byte> all(8 * MiB);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>((i * 31 + i / 4096) & 255);
  ASSERT_TRUE(write(*plain(), 0, all));
  constexpr i64 kBytes = 64 * KiB;
  for (const i64 step : {-kBytes, 2 * kBytes, -2 * kBytes - 100}) {
    i64 waiting = 0, most = 0;
    auto storage = make_cached(std::make_unique<Distant>(plain(), waiting, most), pipelined(1 * MiB, 1 * MiB));
    const i64 first = step < 0 ? 7 * MiB : 0;
    for (i64 i = 0; i < 30; ++i) {
      const auto got = read(*storage, first + i * step, kBytes);
      ASSERT_EQ(static_cast<i64>(got.size()), kBytes);
      ASSERT_EQ(std::memcmp(got.data(), all.data() + first + i * step, got.size()), 0) << step << " " << i;
    }
    EXPECT_EQ(most, 16) << step;   // what may be read in advance
    std::vector<std::byte> other(100, std::byte{9});
    ASSERT_TRUE(write(*storage, first + 30 * step + 50, other));
    EXPECT_EQ(read(*storage, first + 30 * step, kBytes)[50], std::byte{9}) << "it is not what was read before it was written";
    ASSERT_TRUE(storage->close().ok());
    EXPECT_EQ(waiting, 0);
    ASSERT_TRUE(write(*plain(), 0, all));
  }
}

// Threads take chunks in turn. Between their reads, a library makes small reads of another part, to look up where a chunk is.
TEST_F(ReadAheadTest, ReadsInAdvanceServeAnotherOrder) {
  std::vector<std::byte> all(8 * MiB);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>((i * 31 + i / 4096) & 255);
  ASSERT_TRUE(write(*plain(), 0, all));
  constexpr i64 kBytes = 64 * KiB, kReads = 90;
  for (const i64 step : {-kBytes, kBytes}) {
    std::mt19937 random(7);
    i64 waiting = 0, most = 0;
    auto plan = std::make_shared<FaultPlan>();   // counts the reads that somebody waits for alone
    plan->kinds = kFaultRead;
    auto storage = make_cached(std::make_unique<Distant>(make_faulty(plain(), plan), waiting, most), pipelined(0, 1 * MiB));
    std::vector<i64> order(kReads);
    for (i64 i = 0; i < kReads; ++i) order[static_cast<size_t>(i)] = i;
    for (size_t i = 6; i + 4 <= order.size(); i += 4) std::shuffle(order.begin() + static_cast<std::ptrdiff_t>(i), order.begin() + static_cast<std::ptrdiff_t>(i) + 4, random);
    i64 reads = 0;
    for (const i64 i : order) {
      const i64 at = step < 0 ? 7 * MiB + i * step : i * step;
      const auto got = read(*storage, at, kBytes);
      ASSERT_EQ(static_cast<i64>(got.size()), kBytes);
      ASSERT_EQ(std::memcmp(got.data(), all.data() + at, got.size()), 0) << step << " " << i;
      if (++reads % 8 == 0) {
        ASSERT_EQ(read(*storage, 8 * MiB - 100'000 + reads, 50).size(), 50u);
      }
    }
    EXPECT_LE(plan->seen, kReads + 11 + 16 + 2) << "each once, the small ones, and at most what may be read in advance beyond the last one";
    ASSERT_TRUE(storage->close().ok());
    EXPECT_EQ(waiting, 0);
  }
}

TEST_F(ReadAheadTest, NothingIsReadInAdvanceBeyondWhatAFileCanHave) {
  i64 waiting = 0, most = 0;
  auto storage = make_cached(std::make_unique<Distant>(plain(), waiting, most), pipelined(0, 1 * MiB));
  for (i64 i = 12; i > 0; --i) EXPECT_EQ(read(*storage, std::numeric_limits<i64>::max() - i * 64 * KiB, 64 * KiB).size(), 0u);
  ASSERT_TRUE(storage->close().ok());
}

// As a kernel divides the chunks that dask reads backwards; it leaves out pages that it has.
TEST_F(ReadAheadTest, RunsOfReadsAtEqualDistancesAreReadInAdvance) {
  std::vector<std::byte> all(16 * MiB);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>((i * 31 + i / 4096) & 255);
  ASSERT_TRUE(write(*plain(), 0, all));
  constexpr i64 kRun = 512 * KiB, kPart = 64 * KiB, kPage = 4 * KiB, kRuns = 30;
  i64 waiting = 0, most = 0, before = 0;
  auto plan = std::make_shared<FaultPlan>();
  plan->kinds = kFaultRead;
  auto storage = make_cached(std::make_unique<Distant>(make_faulty(plain(), plan), waiting, most), pipelined(0, 4 * MiB));
  for (i64 run = 0; run < kRuns; ++run) {
    if (run == 4) before = plan->seen;
    const i64 begin = 15 * MiB - run * kRun, end = begin + kRun + (run == 0 ? kPage : 0);
    for (i64 at = begin; at < end; at += kPart) {
      const i64 bytes = std::min(kPart, end - at);
      const auto got = read(*storage, at, bytes);
      ASSERT_EQ(static_cast<i64>(got.size()), bytes);
      ASSERT_EQ(std::memcmp(got.data(), all.data() + at, got.size()), 0) << run << " " << at;
    }
  }
  EXPECT_LE(plan->seen - before, kRuns) << "one request for a run";
  ASSERT_TRUE(storage->close().ok());
  EXPECT_EQ(waiting, 0);
}

TEST_F(ReadAheadTest, ReadsAtEqualDistancesAreLikeThoseOfThePlainStorage) {
  constexpr i64 kBytes = 32 * KiB, kMost = 2 * MiB;
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    auto pick = [&](i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(random); };
    driver_ = make_memory_driver();
    i64 waiting = 0, most = 0, place = 0, step = kBytes;
    auto storage = make_cached(std::make_unique<Distant>(plain(), waiting, most), pipelined(seed % 2 == 0 ? 300'000 : 0, 400'000));
    std::vector<std::byte> model;
    for (int round = 0; round < 300; ++round) {
      const i64 what = pick(0, 99);
      if (what < 12) {
        std::vector<std::byte> data(static_cast<size_t>(pick(1, 50'000)), static_cast<std::byte>(pick(1, 255)));
        const i64 at = pick(0, kMost - 50'000);
        ASSERT_EQ(write(*storage, at, data).value(), static_cast<i64>(data.size()));
        model.resize(std::max(model.size(), static_cast<size_t>(at) + data.size()));
        std::memcpy(model.data() + at, data.data(), data.size());
      } else if (what < 14) {
        model.resize(static_cast<size_t>(pick(0, kMost)));
        ASSERT_TRUE(storage->set_size(static_cast<i64>(model.size())).ok());
      } else if (what < 16) {
        ASSERT_TRUE(storage->flush().ok());
      } else if (what < 18) {
        ASSERT_TRUE(storage->lock(0, 100, what == 16).ok());
      } else {
        place += step;
        if (place < 0 || place > kMost || what < 20) place = pick(0, kMost), step = pick(0, 3) == 0 ? -kBytes : pick(-90'000, 90'000);
        const i64 there = std::clamp<i64>(static_cast<i64>(model.size()) - place, 0, kBytes);
        if (pick(0, 5) == 0) {   // another thread was sooner
          const i64 earlier = std::max<i64>(0, place + pick(-2, 2) * step), rest = std::clamp<i64>(static_cast<i64>(model.size()) - earlier, 0, kBytes);
          const auto got = read(*storage, earlier, kBytes);
          ASSERT_EQ(static_cast<i64>(got.size()), rest) << "seed " << seed << " round " << round;
          ASSERT_TRUE(std::equal(got.begin(), got.end(), model.begin() + earlier * (rest > 0 ? 1 : 0))) << "seed " << seed << " round " << round;
        }
        const auto got = read(*storage, place, kBytes);
        ASSERT_EQ(static_cast<i64>(got.size()), there) << "seed " << seed << " round " << round;
        ASSERT_TRUE(std::equal(got.begin(), got.end(), model.begin() + place * (there > 0 ? 1 : 0))) << "seed " << seed << " round " << round;
      }
    }
    ASSERT_TRUE(storage->close().ok());
    ASSERT_EQ(waiting, 0);
    ASSERT_EQ(read(*plain(), 0, 2 * kMost), model) << "seed " << seed;
  }
}

}  // namespace
}  // namespace mercutio
