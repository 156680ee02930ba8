// A lock around each transfer, and none where the caller holds one already. What it moves, and everything else, is in
// tests/contract.
#include "storage/locked.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <new>

#include "storage/drivers.h"
#include "storage/forwarding.h"

namespace mercutio {
namespace {

struct Counts {
  std::atomic<int> locks{0}, held{0}, most_held{0}, unheld_transfers{0};
  bool refuse = false, out_of_memory = false;
};

class CountedLock final : public HeldLock {
 public:
  explicit CountedLock(Counts& counts) : counts_(counts) { ++counts_.held; }
  ~CountedLock() override { --counts_.held; }

 private:
  Counts& counts_;
};

class Counting final : public Forwarding {
 public:
  Counting(std::unique_ptr<Storage> inner, Counts& counts) : Forwarding(std::move(inner)), counts_(counts) {}
  Result<i64> read(std::span<const IoPiece> pieces) override {
    if (counts_.held == 0) ++counts_.unheld_transfers;
    return inner_->read(pieces);
  }
  Result<i64> write(std::span<const IoPiece> pieces) override {
    if (counts_.held == 0) ++counts_.unheld_transfers;
    if (counts_.out_of_memory) throw std::bad_alloc();
    return inner_->write(pieces);
  }
  Result<std::unique_ptr<HeldLock>> lock(i64, i64, bool) override {
    if (counts_.refuse) return Error{ErrorClass::kIo, "no lock", ENOLCK};
    ++counts_.locks;
    return std::unique_ptr<HeldLock>(std::make_unique<CountedLock>(counts_));
  }

 private:
  Counts& counts_;
};

struct Locked : ::testing::Test {
  Locked() {
    OpenOptions options;
    options.write = options.create = true;
    auto opened = driver->open("locked", options);
    storage = make_locked(std::make_unique<Counting>(std::move(*opened), counts));
  }
  IoPiece piece(i64 offset, i64 bytes) { return {offset, data.data(), bytes}; }
  Status write(i64 offset, i64 bytes) {
    const IoPiece one = piece(offset, bytes);
    auto moved = storage->write(std::span(&one, 1));
    return moved ? ok_status() : Status(moved.error());
  }

  std::array<std::byte, 100> data{};
  Counts counts;
  const std::unique_ptr<Driver> driver = make_memory_driver();
  std::unique_ptr<Storage> storage;
};

TEST_F(Locked, EachTransferHasALock) {
  ASSERT_TRUE(write(0, 10).ok());
  const IoPiece one = piece(0, 10);
  ASSERT_TRUE(storage->read(std::span(&one, 1)).ok());
  ASSERT_TRUE(storage->start(Direction::kWrite, {one})->wait().ok());
  EXPECT_EQ(counts.locks, 3);
  EXPECT_EQ(counts.held, 0);
  EXPECT_EQ(counts.unheld_transfers, 0);
  EXPECT_EQ(storage->traits().coherence, Coherence::kImmediate);
}

TEST_F(Locked, NothingMovedNeedsNoLock) {
  ASSERT_TRUE(write(5, 0).ok());
  EXPECT_EQ(counts.locks, 0);
}

TEST_F(Locked, TheCallersLockServes) {
  auto held = storage->lock(0, 50, /*exclusive=*/false);
  ASSERT_TRUE(held.ok());
  ASSERT_TRUE(write(10, 40).ok());
  EXPECT_EQ(counts.locks, 1);
  ASSERT_TRUE(write(60, 10).ok());   // not covered
  EXPECT_EQ(counts.locks, 2);
  ASSERT_TRUE((*held)->release().ok());
  held->reset();
  ASSERT_TRUE(write(10, 40).ok());
  EXPECT_EQ(counts.locks, 3);
  EXPECT_EQ(counts.unheld_transfers, 0);
}

TEST_F(Locked, ATransferThatThrowsIsNotWaitedFor) {
  auto held = storage->lock(0, 50, /*exclusive=*/true);
  ASSERT_TRUE(held.ok());
  counts.out_of_memory = true;
  EXPECT_THROW((void)write(10, 40), std::bad_alloc);
  ASSERT_TRUE((*held)->release().ok());
  held->reset();
  EXPECT_EQ(counts.held, 0);
}

TEST_F(Locked, ALockThatCantBeHadIsTheTransfersError) {
  counts.refuse = true;
  const Status failed = write(0, 10);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().sys_errno, ENOLCK);
}

}  // namespace
}  // namespace mercutio
