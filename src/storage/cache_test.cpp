#include "storage/cache.h"

#include <unistd.h>

#include <cstring>
#include <functional>
#include <new>
#include <random>
#include <thread>
#include <utility>

#include "storage/cache_test_support.h"

namespace mercutio {
namespace {

// Calls `meanwhile` before it writes; what is started writes when it is waited for.
class Interrupted final : public Forwarding {
 public:
  Interrupted(std::unique_ptr<Storage> inner, const std::function<void()>& meanwhile) : Forwarding(std::move(inner)), meanwhile_(meanwhile) {}
  Result<i64> write(std::span<const IoPiece> pieces) override {
    if (meanwhile_) meanwhile_();
    return inner_->write(pieces);
  }
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override {
    EXPECT_EQ(direction, Direction::kWrite);
    return std::make_unique<Late>(*inner_, std::move(pieces));
  }

 private:
  class Late final : public Transfer {
   public:
    Late(Storage& storage, std::vector<IoPiece> pieces) : storage_(storage), pieces_(std::move(pieces)) {}
    bool done() override { return moved_.has_value(); }
    Result<i64> wait() override {
      if (!moved_) moved_ = storage_.write(pieces_);
      return *moved_;
    }

   private:
    Storage& storage_;
    std::vector<IoPiece> pieces_;
    std::optional<Result<i64>> moved_;
  };
  const std::function<void()>& meanwhile_;
};

// Another thread's reads follow each other up to where this one writes.
TEST_F(CacheTest, NothingIsReadAheadWhileAWriteIsUnderWay) {
  std::function<void()> meanwhile;
  auto storage = make_cached(std::make_unique<Interrupted>(plain(), meanwhile), kBoth);
  ASSERT_TRUE(storage->set_size(1000).ok());
  for (i64 i = 0; i < 20; ++i) ASSERT_EQ(read(*storage, 10 * i, 10)[0], std::byte{0});
  meanwhile = [&] { ASSERT_EQ(read(*storage, 200, 10).size(), 10u); };
  ASSERT_EQ(write(*storage, 210, ten_).value(), 10);
  EXPECT_EQ(read(*storage, 210, 10), ten_);
  const std::unique_ptr<Transfer> started = storage->start(Direction::kWrite, {{230, ten_.data(), 10}});
  ASSERT_EQ(read(*storage, 220, 10).size(), 10u);
  ASSERT_EQ(started->wait().value(), 10);
  EXPECT_EQ(read(*storage, 230, 10), ten_);
  const i64 before = storage->cache_stats()->calls;
  for (i64 i = 24; i < 40; ++i) ASSERT_EQ(read(*storage, 10 * i, 10)[0], std::byte{0});
  EXPECT_GT(storage->cache_stats()->calls, before);   // again, once they are over
}

// Whoever asks whether a write is done doesn't wait for another thread's request, and one that threw is over.
TEST_F(CacheTest, WhatAWriteIsCountedByWaitsForNobody) {
  struct Stopped final : Forwarding {
    Stopped(std::unique_ptr<Storage> inner, std::function<void()>& instead) : Forwarding(std::move(inner)), instead_(instead) {}
    Result<i64> read(std::span<const IoPiece> pieces) override {
      if (instead_) std::exchange(instead_, nullptr)();
      return inner_->read(pieces);
    }
    Result<i64> write(std::span<const IoPiece> pieces) override {
      if (instead_) std::exchange(instead_, nullptr)();
      return inner_->write(pieces);
    }
    std::function<void()>& instead_;
  };
  std::function<void()> instead;
  auto storage = make_cached(std::make_unique<Stopped>(plain(), instead), kBoth);
  ASSERT_TRUE(storage->set_size(1000).ok());
  instead = [] { throw std::bad_alloc(); };
  EXPECT_THROW((void)write(*storage, 500, ten_), std::bad_alloc);
  for (i64 i = 0; i < 80; ++i) ASSERT_EQ(read(*storage, 10 * i, 10).size(), 10u);
  EXPECT_GT(storage->cache_stats()->calls, 0);
  const std::unique_ptr<Transfer> started = storage->start(Direction::kWrite, {{900, ten_.data(), 10}});
  for (i64 i = 0; i < 20; ++i) ASSERT_EQ(write(*storage, 10 * i, ten_).value(), 10);
  instead = [&] { EXPECT_TRUE(started->done()); };
  ASSERT_TRUE(storage->flush().ok());
  EXPECT_FALSE(instead) << "something was kept";
}

TEST_F(CacheTest, AppendsBecomeFewRequests) {
  auto storage = open();
  for (i64 i = 0; i < 1000; ++i) ASSERT_EQ(write(*storage, 10 * i, ten_).value(), 10);
  EXPECT_EQ(operations(), 8 + 2);   // the streak, and what is full of 9,920 bytes in 4,096
  EXPECT_EQ(storage->size().value(), 10000);
  EXPECT_EQ(operations(), 8 + 3);
  ASSERT_TRUE(storage->close().ok());
}

// What reaches the file by itself, and how many accesses were in it: in the order in which they ended.
TEST_F(CacheTest, ASinkHearsOfRequestsAndOfWhatIsAbsorbed) {
  struct Heard final : TraceSink {
    std::vector<TraceEvent> events;
    void record(const TraceEvent& event) override { events.push_back(event); }
  } heard;
  auto storage = open();
  storage->trace_to(&heard);
  for (i64 i = 0; i < 200; ++i) ASSERT_TRUE(write(*storage, 10 * i, ten_));
  EXPECT_EQ(storage->cache_stats()->calls, 192);
  EXPECT_EQ(storage->cache_stats()->requests, 0);
  EXPECT_TRUE(heard.events.empty()) << "calls that pass through are told of by who makes them";
  ASSERT_TRUE(storage->flush().ok());
  for (i64 i = 0; i < 100; ++i) read(*storage, 10 * i, 10);
  const i64 served = storage->cache_stats()->calls - 192, requests = storage->cache_stats()->requests - 1;
  ASSERT_TRUE(storage->close().ok());
  EXPECT_GT(served, 50);
  ASSERT_EQ(static_cast<i64>(heard.events.size()), 2 + requests + 1);
  EXPECT_EQ(heard.events[0].kind, TraceKind::kStorageWrite);
  EXPECT_EQ(heard.events[0].offset, 80);
  EXPECT_EQ(heard.events[0].bytes, 1920);
  EXPECT_EQ(heard.events[1].kind, TraceKind::kAbsorbedWrite);
  EXPECT_EQ(heard.events[1].pieces, 192);
  i64 read_in_advance = 0;
  for (size_t i = 2; i + 1 < heard.events.size(); ++i) {
    EXPECT_EQ(heard.events[i].kind, TraceKind::kStorageRead) << i;
    read_in_advance += heard.events[i].bytes;
  }
  EXPECT_EQ(heard.events.back().kind, TraceKind::kAbsorbedRead);
  EXPECT_EQ(heard.events.back().pieces, served);
  EXPECT_GT(heard.events.back().bytes, 0) << "of what was read in advance, the rest";
  EXPECT_EQ(heard.events.back().bytes, read_in_advance - 10 * served);
}

TEST_F(CacheTest, SequentialReadsBecomeFewRequestsForHardlyMoreBytes) {
  class Counting final : public Forwarding {
   public:
    Counting(std::unique_ptr<Storage> inner, i64& bytes, i64& calls) : Forwarding(std::move(inner)), bytes_(bytes), calls_(calls) {}
    Result<i64> read(std::span<const IoPiece> pieces) override {
      for (const IoPiece& piece : pieces) bytes_ += piece.bytes;
      ++calls_;
      return inner_->read(pieces);
    }

   private:
    i64 &bytes_, &calls_;
  };
  auto file = plain();
  std::vector<std::byte> all(100000, std::byte{3});
  ASSERT_TRUE(write(*file, 0, all));
  for (const i64 count : {1, 9, 40, 300, 1000, 5000}) {
    for (const i64 piece : {1, 10, 20}) {
      i64 bytes = 0, calls = 0;
      auto storage = make_cached(std::make_unique<Counting>(plain(), bytes, calls), kBoth);
      for (i64 i = 0; i < count; ++i) ASSERT_EQ(static_cast<i64>(read(*storage, piece * i, piece).size()), piece);
      EXPECT_LE(bytes, count * piece * 11 / 10) << count << " reads of " << piece;
      EXPECT_LE(calls, count < 1000 ? count : count / 8) << count << " reads of " << piece;
    }
  }
}

TEST_F(CacheTest, SingleAndRandomAccessesAreNotHeldUp) {
  auto storage = open();
  for (i64 i = 0; i < 100; ++i) ASSERT_TRUE(write(*storage, (i * 37 % 100) * 1000, ten_));
  EXPECT_EQ(operations(), 100);
}

TEST_F(CacheTest, FlushWritesWhatIsKeptAndForgetsWhatWasReadAhead) {
  auto storage = open();
  auto other = plain();
  for (i64 i = 0; i < 50; ++i) ASSERT_TRUE(write(*storage, 10 * i, ten_));
  EXPECT_LT(other->size().value(), 500);
  ASSERT_TRUE(storage->flush().ok());
  EXPECT_EQ(other->size().value(), 500);
  for (i64 i = 0; i < 20; ++i) read(*storage, 10 * i, 10);
  std::vector<std::byte> changed(500, std::byte{9});
  ASSERT_TRUE(write(*other, 0, changed));
  ASSERT_TRUE(storage->flush().ok());
  EXPECT_EQ(read(*storage, 200, 10)[0], std::byte{9});
}

TEST_F(CacheTest, AnErrorStaysUntilTheDataIsWritten) {
  auto storage = open();
  for (i64 i = 0; i < 20; ++i) ASSERT_TRUE(write(*storage, 10 * i, ten_));
  plan_->fail_at = operations();
  Status first = storage->sync();
  ASSERT_FALSE(first.ok());
  EXPECT_NE(first.error().what.find("kept in memory"), std::string::npos);
  EXPECT_EQ(plain()->size().value(), 80);
  EXPECT_TRUE(storage->sync().ok());   // it fails once only
  EXPECT_EQ(plain()->size().value(), 200);
}

TEST_F(CacheTest, AnErrorOfEarlierDataSaysNothingOfThisRequest) {
  auto storage = open();
  for (i64 i = 0; i < 20; ++i) ASSERT_TRUE(write(*storage, 10 * i, ten_));
  plan_->fail_at = operations();
  plan_->partial_write_bytes = 5;
  const IoPiece again{195, ten_.data(), 10};
  const auto failed = storage->read({&again, 1});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().moved, 0);
}

TEST_F(CacheTest, CloseReportsWhatIsLost) {
  auto storage = open();
  for (i64 i = 0; i < 20; ++i) ASSERT_TRUE(write(*storage, 10 * i, ten_));
  plan_->fail_at = operations();
  plan_->from_then_on = true;
  EXPECT_EQ(storage->close().error().cls, ErrorClass::kIo);
}

TEST_F(CacheTest, NothingIsKeptUnderALock) {
  auto storage = open();
  for (i64 i = 0; i < 20; ++i) ASSERT_TRUE(write(*storage, 10 * i, ten_));
  auto held = storage->lock(0, 1000, true);
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(plain()->size().value(), 200);
  for (i64 i = 20; i < 30; ++i) ASSERT_TRUE(write(*storage, 10 * i, ten_));
  EXPECT_EQ(plain()->size().value(), 300);
  held->reset();
  for (i64 i = 30; i < 40; ++i) ASSERT_TRUE(write(*storage, 10 * i, ten_));
  EXPECT_EQ(plain()->size().value(), 300);
}

TEST_F(CacheTest, WritesAreUnderWayUpToTheBytesOfThePolicy) {
  for (const bool joins : {false, true}) {
    i64 waiting = 0, most = 0;
    CachePolicy policy = pipelined(100, 0);
    if (joins) policy = {.write_bytes = 480, .join_bytes = 160};
    auto storage = make_cached(std::make_unique<Distant>(make_faulty(plain(), plan_), waiting, most), policy);
    for (i64 i = 0; i < 200; ++i) ASSERT_EQ(write(*storage, 10 * i, ten_).value(), 10);
    EXPECT_EQ(most, joins ? 3 : 10) << "before another one fills, one of them ends";
    EXPECT_EQ(read(*storage, 1990, 10), ten_);
    ASSERT_TRUE(storage->flush().ok());
    EXPECT_EQ(waiting, 0);
    EXPECT_EQ(plain()->size().value(), 2000);
  }
}

TEST_F(CacheTest, AWriteThatOverlapsOneUnderWayWaitsForIt) {
  i64 waiting = 0, most = 0;
  auto storage = make_cached(std::make_unique<Distant>(plain(), waiting, most), pipelined(1000, 0));
  std::vector<std::byte> other(10, std::byte{9});
  ASSERT_TRUE(write(*storage, 0, ten_));
  ASSERT_TRUE(write(*storage, 50, ten_));
  EXPECT_EQ(waiting, 2);
  ASSERT_TRUE(write(*storage, 5, other));
  EXPECT_EQ(waiting, 1);
  EXPECT_EQ(read(*storage, 100, 10).size(), 0u);
  EXPECT_EQ(waiting, 0) << "the end of the file may be in what is under way";
  ASSERT_TRUE(storage->close().ok());
  EXPECT_EQ(read(*plain(), 5, 10), other);
}

// Where failed data is not kept, sync tells it once. Where it is kept, it is written again.
TEST_F(CacheTest, AnErrorUnderWayIsReported) {
  for (const bool keeps : {false, true}) {
    i64 waiting = 0, most = 0;
    plan_->seen = 0;
    plan_->fail_at = 2;
    CachePolicy policy = pipelined(1000, 0);
    policy.keeps_failed = keeps;
    auto storage = make_cached(std::make_unique<Distant>(make_faulty(plain(), plan_), waiting, most), policy);
    for (i64 i = 0; i < 5; ++i) ASSERT_TRUE(write(*storage, 100 * i, ten_)) << "nobody knows yet";
    EXPECT_EQ(storage->sync().error().cls, ErrorClass::kIo);
    EXPECT_TRUE(storage->sync().ok());
    EXPECT_EQ(read(*plain(), 200, 10) == ten_, keeps);
    EXPECT_EQ(read(*plain(), 400, 10), ten_);
    ASSERT_TRUE(storage->set_size(0).ok());
    ASSERT_TRUE(storage->close().ok());
  }
}

// Each has a region of its own; flushes, sizes and what is read in advance meet in the cache.
TEST_F(CacheTest, ThreadsSeeWhatTheyWrote) {
  constexpr i64 kRegion = 40'000, kThreads = 4;
  for (const CachePolicy& policy : {kBoth, pipelined(3000, 64 * KiB)}) {
    OpenOptions options;
    options.write = options.create = true;
    const auto driver = make_posix_driver();
    const std::string name = ::testing::TempDir() + "cache-threads." + std::to_string(::getpid());
    auto storage = make_cached(std::move(driver->open(name, options)).value(), policy);
    const auto work = [&](i64 region) {
      std::vector<std::byte> data(10);
      for (i64 i = 0; i < 400; ++i) {
        std::fill(data.begin(), data.end(), static_cast<std::byte>(region + i % 100));
        const i64 at = region * kRegion + (i % 200) * 10;
        EXPECT_EQ(write(*storage, at, data).value(), 10);
        if (i % 3 == 0) {
          EXPECT_EQ(read(*storage, at, 10), data);
        }
        if (i % 50 == region) {
          EXPECT_TRUE(storage->flush().ok());
        }
        if (i % 40 == region) {
          EXPECT_GE(storage->size().value(), at + 10);
        }
        if (i % 70 == region) {
          EXPECT_EQ(storage->start(Direction::kWrite, {{at, data.data(), 10}})->wait().value(), 10);
        }
      }
      std::fill(data.begin(), data.end(), static_cast<std::byte>(region + 99));
      for (i64 i = 0; i < 200; ++i) EXPECT_EQ(read(*storage, region * kRegion + i * 10, 10)[0], static_cast<std::byte>(region + i % 100));
    };
    std::vector<std::thread> threads;
    for (i64 region = 0; region < kThreads; ++region) threads.emplace_back(work, region);
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE(storage->close().ok());
    ASSERT_TRUE(driver->remove(name).ok());
  }
}

// Any sequence of calls gives what the plain storage gives.
TEST_F(CacheTest, LikeThePlainStorage) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    auto pick = [&](i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(random); };
    driver_ = make_memory_driver();
    CachePolicy policy = joined(seed % 4 != 1 ? 512 : 0, seed % 4 != 2 ? 512 : 0);
    if (seed % 3 == 1) policy.write_bytes *= 3;
    if (seed % 3 == 2) policy = pipelined(policy.write_bytes, policy.read_bytes);
    i64 waiting = 0, most = 0;
    auto storage = make_cached(std::make_unique<Distant>(plain(), waiting, most), policy);
    std::vector<std::byte> model;
    i64 place = 0;
    for (int step = 0; step < 400; ++step) {
      if (pick(0, 19) == 0) place = pick(0, 3000);
      const i64 bytes = pick(0, 9) == 0 ? pick(1, 600) : pick(1, 20), what = pick(0, 99);
      if (what < 50) {
        std::vector<std::byte> data(static_cast<size_t>(bytes));
        for (std::byte& b : data) b = static_cast<std::byte>(pick(1, 255));
        ASSERT_EQ(write(*storage, place, data).value(), bytes);
        if (static_cast<i64>(model.size()) < place + bytes) model.resize(static_cast<size_t>(place + bytes));
        std::memcpy(model.data() + place, data.data(), data.size());
        place += bytes;
      } else if (what < 92) {
        const i64 there = std::clamp<i64>(static_cast<i64>(model.size()) - place, 0, bytes);
        const auto got = read(*storage, place, bytes);
        ASSERT_EQ(static_cast<i64>(got.size()), there) << "seed " << seed << " step " << step << " at " << place << " of " << model.size();
        if (there > 0) {
          ASSERT_EQ(std::memcmp(got.data(), model.data() + place, got.size()), 0) << "seed " << seed << " step " << step;
        }
        place += there;
      } else if (what < 94) {
        ASSERT_EQ(storage->size().value(), static_cast<i64>(model.size()));
      } else if (what < 95) {
        model.resize(static_cast<size_t>(pick(0, 3000)));
        ASSERT_TRUE(storage->set_size(static_cast<i64>(model.size())).ok());
      } else if (what < 97) {
        ASSERT_TRUE(storage->flush().ok());
      } else {
        auto held = storage->lock(0, 100, what == 97);
        ASSERT_TRUE(held.ok());
      }
    }
    ASSERT_TRUE(storage->close().ok());
    const auto all = read(*plain(), 0, 100000);
    ASSERT_EQ(all, model) << "seed " << seed;
  }
}

}  // namespace
}  // namespace mercutio
