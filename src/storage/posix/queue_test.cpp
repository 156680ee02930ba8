// Both queues of started transfers; that of io_uring only where the kernel has it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "storage/posix/async_queue.h"

namespace mercutio::posix {
namespace {

class Queues : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    queue_ = std::string(GetParam()) == "io_uring" ? make_uring_queue() : make_thread_queue(std::make_shared<TransferPool>(2));
    if (!queue_) GTEST_SKIP() << "no io_uring here";
    const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    ASSERT_GE(fd, 0);
    file_ = std::make_shared<OpenFd>(fd);
  }
  void TearDown() override { ::unlink(path_.c_str()); }
  Result<i64> run(Direction direction, std::vector<IoPiece> pieces) {
    return queue_->start(file_, direction, std::move(pieces))->wait();
  }

  std::string path_ = ::testing::TempDir() + "queue." + std::to_string(::getpid());
  std::shared_ptr<AsyncQueue> queue_;
  std::shared_ptr<OpenFd> file_;
};

TEST_P(Queues, MoreRunsThanSlots) {
  constexpr i64 kRuns = 700;
  std::vector<std::byte> out(kRuns * 16), in(kRuns * 16);
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i % 253);
  std::vector<IoPiece> writes, reads;
  for (i64 i = 0; i < kRuns; ++i) {
    writes.push_back({32 * ((i * 37) % kRuns), out.data() + 16 * i, 16});
    reads.push_back({32 * ((i * 37) % kRuns), in.data() + 16 * i, 16});
  }
  EXPECT_EQ(run(Direction::kWrite, writes).value(), kRuns * 16);
  EXPECT_EQ(run(Direction::kRead, reads).value(), kRuns * 16);
  EXPECT_EQ(in, out);
}

TEST_P(Queues, EndOfFileCutsInTheOrderOfThePieces) {
  std::vector<std::byte> data(4096, std::byte{5});
  ASSERT_EQ(run(Direction::kWrite, {{0, data.data(), 1000}}).value(), 1000);
  EXPECT_EQ(run(Direction::kRead, {{0, data.data(), 100}, {990, data.data() + 100, 100}, {200, data.data() + 200, 100}})
                .value(),
            110);
  EXPECT_EQ(run(Direction::kRead, {{5000, data.data(), 100}}).value(), 0);
  EXPECT_EQ(run(Direction::kRead, {}).value(), 0);
  EXPECT_EQ(run(Direction::kRead, {{10, data.data(), 0}}).value(), 0);
}

TEST_P(Queues, ErrorsComeWithTheirPlace) {
  std::vector<std::byte> data(100);
  EXPECT_EQ(run(Direction::kRead, {{-5, data.data(), 10}}).error().cls, ErrorClass::kArg);
  const auto reader = std::make_shared<OpenFd>(::open(path_.c_str(), O_RDONLY));
  const auto failed = queue_->start(reader, Direction::kWrite, {{40, data.data(), 10}})->wait();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().sys_errno, EBADF);
  EXPECT_EQ(failed.error().offset, 40);
  EXPECT_EQ(failed.error().bytes, 10);
}

TEST_P(Queues, ManyThreads) {
  constexpr i64 kThreads = 4, kEach = 60, kBytes = 3000;
  std::vector<std::thread> threads;
  for (i64 t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::vector<std::byte> data(kBytes, static_cast<std::byte>(t + 1));
      std::vector<std::unique_ptr<Transfer>> transfers;
      for (i64 i = 0; i < kEach; ++i)
        transfers.push_back(
            queue_->start(file_, Direction::kWrite, {{(i * kThreads + t) * kBytes, data.data(), kBytes}}));
      for (auto& transfer : transfers) {
        while (!transfer->done()) std::this_thread::yield();
        EXPECT_EQ(transfer->wait().value(), kBytes);
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::vector<std::byte> all(kThreads * kEach * kBytes);
  ASSERT_EQ(run(Direction::kRead, {{0, all.data(), static_cast<i64>(all.size())}}).value(),
            static_cast<i64>(all.size()));
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(static_cast<size_t>(all[i]), i / kBytes % kThreads + 1) << i;
}

TEST_P(Queues, AQueueEndsAfterItsTransfers) {
  std::vector<std::byte> data(MiB, std::byte{9});
  auto first = queue_->start(file_, Direction::kWrite, {{0, data.data(), MiB}});
  auto second = queue_->start(file_, Direction::kWrite, {{2 * MiB, data.data(), MiB}});
  queue_.reset();
  EXPECT_TRUE(first->done() && second->done());
  EXPECT_EQ(first->wait().value(), MiB);
  EXPECT_EQ(second->wait().value(), MiB);
}

INSTANTIATE_TEST_SUITE_P(All, Queues, ::testing::Values("threads", "io_uring"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace mercutio::posix
