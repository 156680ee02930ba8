#include "storage/lazy_writes.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "storage/drivers.h"
#include "storage/faulty.h"

namespace mercutio {
namespace {

class LazyWritesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    OpenOptions options;
    options.write = options.create = true;
    below_ = std::move(driver_->open("file", options)).value();
    lazy_ = std::make_unique<LazyWrites>(make_faulty(std::move(driver_->open("file", options)).value(), plan_), 4096);
  }
  Status write(i64 offset, std::vector<std::byte>& data) {
    const IoPiece piece{offset, data.data(), static_cast<i64>(data.size())};
    const Result<i64> moved = lazy_->write(std::span(&piece, 1));
    return moved ? ok_status() : Status(moved.error());
  }
  static std::vector<std::byte> filled(i64 bytes, int value) { return std::vector<std::byte>(static_cast<size_t>(bytes), std::byte(value)); }
  std::vector<std::byte> in_file(i64 bytes) {
    std::vector<std::byte> data(static_cast<size_t>(bytes));
    const IoPiece piece{0, data.data(), bytes};
    data.resize(static_cast<size_t>(below_->read(std::span(&piece, 1)).value()));
    return data;
  }

  std::unique_ptr<Driver> driver_ = make_memory_driver();
  std::shared_ptr<FaultPlan> plan_ = [] {
    auto plan = std::make_shared<FaultPlan>();
    plan->kinds = kFaultRead | kFaultWrite;
    return plan;
  }();
  std::unique_ptr<Storage> below_;
  std::unique_ptr<LazyWrites> lazy_;
};

TEST_F(LazyWritesTest, KeepsSmallWritesAndHandsThemOnInTheFilesOrder) {
  auto a = filled(100, 1), b = filled(100, 2), c = filled(50, 3);
  ASSERT_TRUE(write(500, a));
  ASSERT_TRUE(write(100, b));
  ASSERT_TRUE(write(550, c));   // over a part of the first
  EXPECT_EQ(plan_->seen, 0);
  const LazyWrites::Kept kept = lazy_->take();
  ASSERT_EQ(kept.pieces.size(), 3U);
  EXPECT_EQ(kept.bytes, 200);
  EXPECT_EQ(kept.pieces[0].offset, 100);
  EXPECT_EQ(kept.pieces[1].bytes, 50);
  EXPECT_EQ(kept.pieces[2].data[49], std::byte{3});
  lazy_->written();
  EXPECT_TRUE(lazy_->flush());
  EXPECT_EQ(plan_->seen, 0);   // it was given away
}

TEST_F(LazyWritesTest, WritesOutWhatHasNoRoomAndLargeWritesCoverWhatIsKept) {
  std::vector<std::byte> want(8192);
  std::mt19937 random(3);
  for (int i = 0; i < 400; ++i) {
    const i64 bytes = 1 + static_cast<i64>(random() % (i % 10 == 0 ? 2000 : 300)), at = static_cast<i64>(random() % static_cast<unsigned>(8192 - bytes));
    auto data = filled(bytes, 1 + i % 250);
    ASSERT_TRUE(write(at, data));
    std::copy(data.begin(), data.end(), want.begin() + at);
  }
  ASSERT_TRUE(lazy_->sync());
  auto got = in_file(8192);
  got.resize(8192);
  EXPECT_EQ(got, want);
}

TEST_F(LazyWritesTest, NothingIsKeptUnderALock) {
  auto a = filled(10, 1);
  ASSERT_TRUE(write(0, a));
  {
    const auto held = lazy_->lock(0, 100, true);
    ASSERT_TRUE(held);
    EXPECT_EQ(in_file(10), a);
    auto b = filled(10, 2);
    ASSERT_TRUE(write(0, b));
    EXPECT_EQ(in_file(10), b);
  }
  ASSERT_TRUE(write(0, a));
  EXPECT_EQ(in_file(10)[0], std::byte{2});
}

TEST_F(LazyWritesTest, AWriteToWhatIsBeingWrittenWaits) {
  auto a = filled(10, 1), b = filled(10, 2), c = filled(10, 3);
  ASSERT_TRUE(write(0, a));
  const LazyWrites::Kept kept = lazy_->take();
  ASSERT_TRUE(write(10, c));   // at another place
  std::atomic<bool> returned{false};
  std::thread later([&] {
    EXPECT_TRUE(write(5, b));
    returned = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(returned);
  ASSERT_TRUE(below_->write(kept.pieces));
  lazy_->written();
  later.join();
  ASSERT_TRUE(lazy_->close());
  const auto got = in_file(20);
  EXPECT_EQ(got[4], std::byte{1});
  EXPECT_EQ(got[14], std::byte{2});
  EXPECT_EQ(got[15], std::byte{3});
}

TEST_F(LazyWritesTest, TheErrorOfAKeptWriteIsReported) {
  auto a = filled(10, 1);
  ASSERT_TRUE(write(0, a));
  plan_->fail_at = 0;
  const Status flushed = lazy_->flush();
  ASSERT_FALSE(flushed);
  EXPECT_NE(flushed.error().what.find("mercutio_write_behind"), std::string::npos);
}

}  // namespace
}  // namespace mercutio
