// What the decorators add; that they keep the contract of Storage is tested with the drivers.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "storage/cache.h"
#include "storage/deferred.h"
#include "storage/drivers.h"
#include "storage/dry.h"
#include "storage/faulty.h"
#include "storage/finished_transfer.h"
#include "storage/forwarding.h"
#include "storage/locked.h"
#include "storage/throttled.h"
#include "storage/turned.h"

namespace mercutio {
namespace {

struct Silent final : TraceSink {
  void record(const TraceEvent&) override {}
};

class Decorators : public ::testing::Test {
 protected:
  std::unique_ptr<Storage> open() {
    OpenOptions options;
    options.write = options.create = true;
    auto opened = driver_->open("file", options);
    EXPECT_TRUE(opened.ok());
    return std::move(*opened);
  }
  IoPiece piece(i64 offset, i64 bytes) { return {offset, data_.data(), bytes}; }
  static std::span<const IoPiece> one(const IoPiece& piece) { return {&piece, 1}; }

  std::unique_ptr<Driver> driver_ = make_memory_driver();
  std::vector<std::byte> data_ = std::vector<std::byte>(256 * KiB, std::byte{7});
};

TEST_F(Decorators, AMergeInAFileInMemoryHoldsUpNoOtherFile) {
  OpenOptions options;
  options.write = options.create = true;
  auto merging = open();
  auto exclusion = merging->exclude_other_writers(false);
  ASSERT_NE(exclusion, nullptr);
  std::atomic<bool> opened{false};
  std::thread writer([&] {
    const auto mine = driver_->open("file", options);
    opened = true;
  });
  std::atomic<int> others{0};
  std::thread other([&] {
    for (; others < 50; ++others) {
      (void)driver_->open("other", options);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (int ms = 0; ms < 10'000 && others < 50; ++ms) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(others, 50);
  EXPECT_FALSE(opened);
  exclusion.reset();
  writer.join();
  other.join();
}

// What a plain storage has no answer of its own to.
struct KnowsMore final : Forwarding {
  using Forwarding::Forwarding;
  std::unique_ptr<Transfer> start(Direction, std::vector<IoPiece>) override { return finished_transfer(i64{77}); }
  i64 known_size() const override { return 77; }
  const CacheStats* cache_stats() const override { return &counts; }
  void trace_to(TraceSink* sink) override { told = sink; }
  CacheStats counts;
  TraceSink* told = nullptr;
};

TEST_F(Decorators, ForwardingHandsOnWhatHasADefault) {
  Silent sink;
  auto made = std::make_unique<KnowsMore>(open());
  KnowsMore& inner = *made;
  Forwarding storage(std::move(made));
  EXPECT_EQ(storage.start(Direction::kRead, {piece(0, 10)})->wait().value(), 77);
  EXPECT_EQ(storage.known_size(), 77);
  EXPECT_EQ(storage.cache_stats(), &inner.counts);
  storage.trace_to(&sink);
  EXPECT_EQ(inner.told, &sink);
}

TEST_F(Decorators, EachHandsOnRefresh) {
  struct Refreshed final : Forwarding {
    Refreshed(std::unique_ptr<Storage> inner, int& times) : Forwarding(std::move(inner)), times_(times) {}
    Status refresh() override { return ++times_, ok_status(); }
    int& times_;
  };
  int times = 0;
  const auto inner = [&] { return std::make_unique<Refreshed>(open(), times); };
  ASSERT_TRUE(make_cached(inner(), CachePolicy{.write_bytes = 64 * KiB, .read_bytes = 64 * KiB, .join_bytes = 64 * KiB})->refresh().ok());
  ASSERT_TRUE(make_dry(inner())->refresh().ok());
  ASSERT_TRUE(make_faulty(inner(), std::make_shared<FaultPlan>())->refresh().ok());
  ASSERT_TRUE(make_locked(inner())->refresh().ok());
  EXPECT_EQ(times, 4);
}

TEST_F(Decorators, DryMovesNothing) {
  ASSERT_TRUE(open()->write(one(piece(0, 1000))).ok());
  auto storage = make_dry(open());
  EXPECT_EQ(storage->size().value(), 1000);
  std::vector<std::byte> data(300, std::byte{1});
  const IoPiece end[] = {{900, data.data(), 300}};
  EXPECT_EQ(storage->read(end).value(), 100);
  EXPECT_EQ(data[99], std::byte{0});
  EXPECT_EQ(data[100], std::byte{1}) << "beyond the end";
  EXPECT_EQ(storage->write(end).value(), 300);
  EXPECT_EQ(storage->size().value(), 1200) << "as if it had been written";
  ASSERT_TRUE(storage->set_size(10).ok());
  EXPECT_EQ(storage->size().value(), 10);
  EXPECT_EQ(open()->size().value(), 1000) << "the file is as it was";
}

TEST_F(Decorators, DeferredOpensWhenItIsNeeded) {
  Silent sink;
  int opens = 0;
  bool fails = true;
  DeferredFacts facts;
  facts.traits.file_system = "told";
  facts.layout.stripe_bytes = 4096;
  auto storage = make_deferred(nullptr, [&]() -> Result<std::unique_ptr<Storage>> {
    ++opens;
    if (fails) return Error{ErrorClass::kNoSuchFile, "gone"};
    return open();
  }, facts);
  EXPECT_EQ(storage->traits().file_system, "told");
  EXPECT_EQ(storage->layout().stripe_bytes, 4096);
  storage->trace_to(&sink);
  EXPECT_TRUE(storage->flush() && storage->sync() && storage->refresh());
  EXPECT_EQ(storage->known_size(), 0);
  EXPECT_EQ(opens, 0);
  const IoPiece some = piece(0, 10);
  EXPECT_EQ(storage->write(one(some)).error().cls, ErrorClass::kNoSuchFile);
  EXPECT_EQ(storage->start(Direction::kRead, {some})->wait().error().cls, ErrorClass::kNoSuchFile);
  EXPECT_EQ(opens, 2);
  fails = false;
  EXPECT_EQ(storage->write(one(some)).value(), 10);
  EXPECT_EQ(storage->size().value(), 10);
  EXPECT_EQ(opens, 3);
  EXPECT_TRUE(storage->close());
  auto unused = make_deferred(nullptr, [&]() -> Result<std::unique_ptr<Storage>> { return open(); }, facts);
  EXPECT_TRUE(unused->close());
}

TEST_F(Decorators, DeferredHandsTurnsAndPublishingOn) {
  struct Noted final : Forwarding {
    Noted(std::unique_ptr<Storage> inner, std::string& calls) : Forwarding(std::move(inner)), calls_(calls) {}
    Status publish(bool keep, bool last) override { return calls_ += keep && !last ? "publish " : "wrong ", ok_status(); }
    Status begin_turn(i64 turn) override { return calls_ += "turn " + std::to_string(turn) + " ", ok_status(); }
    std::string& calls_;
  };
  std::string calls;
  auto storage = make_deferred(nullptr, [&]() -> Result<std::unique_ptr<Storage>> { return std::unique_ptr<Storage>(std::make_unique<Noted>(open(), calls)); }, {});
  EXPECT_TRUE(storage->publish(true, false)) << "nothing is written";
  EXPECT_TRUE(storage->begin_turn(7));
  EXPECT_TRUE(storage->publish(true, false));
  EXPECT_EQ(calls, "turn 7 publish ");
}

// The traits say "remote" so that all ranks plan alike. Whether other opens write is known all the same.
TEST_F(Decorators, DeferredKnowsWhoWritesALocalFile) {
  auto inner = open();
  DeferredFacts facts;
  facts.traits = inner->traits();
  auto storage = make_deferred(std::move(inner), nullptr, facts);
  EXPECT_TRUE(storage->traits().metadata_is_remote);
  EXPECT_TRUE(storage->exclude_other_writers(/*promised=*/true));
  auto other = open();
  ASSERT_TRUE(other->write(one(piece(0, 10))).ok());
  EXPECT_FALSE(storage->exclude_other_writers(/*promised=*/true)) << "a merge would take back what it has written";
}

TEST_F(Decorators, RanksThatDontSeeLocksMergeInTurnsOnly) {
  Turned storage(open());
  EXPECT_FALSE(storage.traits().can_merge);
  storage.begin_turns([]() -> Result<std::unique_ptr<HeldLock>> { return std::unique_ptr<HeldLock>(std::make_unique<NoLock>()); });
  EXPECT_TRUE(storage.traits().can_merge);
  storage.end_turns();
  EXPECT_FALSE(storage.traits().can_merge);
}

TEST_F(Decorators, ThrottledTakesItsTime) {
  auto storage = make_throttled(open(), ThrottleSpeed{1024 * KiB, 10'000'000});
  const i64 start = now_ns();
  ASSERT_TRUE(storage->write(one(piece(0, 128 * KiB))).ok());
  EXPECT_GE(now_ns() - start, 135'000'000);  // 125 ms on the line, 10 ms of latency
}

TEST_F(Decorators, ThrottledTransfersQueueWithoutHoldingUpTheCaller) {
  auto storage = make_throttled(open(), ThrottleSpeed{1024 * KiB, 0});
  const i64 start = now_ns();
  auto first = storage->start(Direction::kWrite, {piece(0, 256 * KiB)});
  auto second = storage->start(Direction::kWrite, {piece(256 * KiB, 256 * KiB)});
  const bool done = first->done();
  if (now_ns() - start < 250'000'000) {
    EXPECT_FALSE(done);
  }
  EXPECT_EQ(first->wait().value(), 256 * KiB);
  EXPECT_GE(now_ns() - start, 250'000'000);
  EXPECT_EQ(second->wait().value(), 256 * KiB);
  EXPECT_GE(now_ns() - start, 500'000'000);
  EXPECT_TRUE(second->done());
}

TEST_F(Decorators, FaultyShortRead) {
  ASSERT_TRUE(open()->write(one(piece(0, 1000))).ok());
  auto plan = std::make_shared<FaultPlan>();
  plan->fail_at = 1;
  plan->short_read_bytes = 150;
  auto storage = make_faulty(open(), plan);
  const IoPiece pieces[] = {piece(0, 100), piece(200, 100)};
  EXPECT_EQ(storage->read(pieces).value(), 200);
  EXPECT_EQ(storage->read(pieces).value(), 150);
  EXPECT_EQ(storage->read(pieces).value(), 200);
}

TEST_F(Decorators, FaultyPartialWrite) {
  auto plan = std::make_shared<FaultPlan>();
  plan->fail_at = 0;
  plan->kinds = kFaultWrite;
  plan->partial_write_bytes = 150;
  plan->error = Error{ErrorClass::kNoSpace, "full", 28};
  auto storage = make_faulty(open(), plan);
  EXPECT_EQ(storage->size().value(), 0);
  const IoPiece pieces[] = {piece(0, 100), piece(1000, 100)};
  auto written = storage->write(pieces);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().cls, ErrorClass::kNoSpace);
  EXPECT_EQ(written.error().offset, 1050);
  EXPECT_EQ(written.error().moved, 150);
  EXPECT_EQ(storage->size().value(), 1050);
}

TEST_F(Decorators, FaultyKindsAndFromThenOn) {
  auto plan = std::make_shared<FaultPlan>();
  plan->fail_at = 1;
  plan->from_then_on = true;
  plan->kinds = kFaultSync | kFaultClose;
  auto storage = make_faulty(open(), plan);
  EXPECT_TRUE(storage->set_size(10).ok());
  EXPECT_TRUE(storage->lock(0, 10, true).ok());
  EXPECT_TRUE(storage->sync().ok());
  EXPECT_FALSE(storage->sync().ok());
  EXPECT_FALSE(storage->start(Direction::kRead, {piece(0, 10)})->wait().value() != 10);
  EXPECT_FALSE(storage->close().ok());
  EXPECT_EQ(plan->seen, 3);
}

TEST_F(Decorators, FaultyStartedTransfer) {
  auto plan = std::make_shared<FaultPlan>();
  plan->fail_at = 0;
  auto storage = make_faulty(open(), plan);
  auto transfer = storage->start(Direction::kWrite, {piece(0, 10)});
  EXPECT_TRUE(transfer->done());
  EXPECT_EQ(transfer->wait().error(), (Error{ErrorClass::kIo, "failed on purpose", 5, 0}));
}

}  // namespace
}  // namespace mercutio
