// The storage where an allocation fails, and no reserve helps: the call is an error, and nothing is left behind.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "base/attempt.h"
#include "failing_heap.h"
#include "storage/drivers.h"
#include "storage/lazy_writes.h"
#include "storage/posix/async_queue.h"

namespace mercutio {
namespace {

// Calls body(n), whose n-th allocation fails, until none does. It returns how many failed.
template <class Body>
void sweep_without_reserve(Body body) {
  for (long n = 0; !::testing::Test::HasFailure(); ++n) {
    ASSERT_LT(n, 1000);
    SCOPED_TRACE("allocation " + std::to_string(n));
    if (body(n) == 0) break;
  }
}

struct FileOnDisk {
  FileOnDisk() { ::close(::mkstemp(name)); }
  ~FileOnDisk() { ::unlink(name); }
  std::unique_ptr<Storage> open(const std::unique_ptr<Driver>& driver) const {
    OpenOptions options;
    options.read = options.write = true;
    return std::move(*driver->open(name, options));
  }
  char name[32] = "/tmp/mercutio-memory-XXXXXX";
};

template <class Call>
auto with_failing(long n, long& failures, Call call) {
  heap = Heap{true, n, LONG_MAX, 0};
  auto result = attempt(call);
  failures = heap.failures;
  heap = Heap{};
  return result;
}

TEST(StorageMemoryFault, LocksAreGivenBack) {
  const auto driver = make_posix_driver();
  const FileOnDisk file;
  sweep_without_reserve([&](long n) {
    long failures = 0;
    const auto mine = file.open(driver), others = file.open(driver);
    const auto first = mine->lock(0, 50, /*exclusive=*/false);
    const Status done = with_failing(n, failures, [&]() -> Status {
      MERCUTIO_LET(const auto overlapping, mine->lock(25, 100, /*exclusive=*/false));
      MERCUTIO_LET(const auto exclusive, mine->lock(200, 300, /*exclusive=*/true));
      return overlapping->release();
    });
    EXPECT_TRUE(done.ok() || done.error().cls == ErrorClass::kNoMem);
    EXPECT_TRUE(*others->try_lock(50, 300, /*exclusive=*/true)) << "nobody holds it now";
    EXPECT_FALSE(*others->try_lock(40, 300, /*exclusive=*/true)) << "the first one holds a part";
    return failures;
  });
}

// A write for which memory is lacking goes to the file, with all that is kept.
TEST(StorageMemoryFault, LazyWritesAreWhole) {
  const auto driver = make_memory_driver();
  OpenOptions options;
  options.write = options.create = true;
  const std::unique_ptr<Storage> below = std::move(*driver->open("file", options));
  std::byte ones[40], twos[2], got[64];
  std::fill(std::begin(ones), std::end(ones), std::byte{1});
  std::fill(std::begin(twos), std::end(twos), std::byte{2});
  std::byte zero[64]{};
  const IoPiece whole{0, zero, 64}, back{0, got, 64};
  sweep_without_reserve([&](long n) {
    EXPECT_TRUE(below->write({&whole, 1}).ok());
    LazyWrites lazy(std::move(*driver->open("file", options)), 4096);
    const IoPiece first{8, ones, 40};
    EXPECT_TRUE(lazy.write({&first, 1}).ok());
    long failures = 0;
    const IoPiece scattered[] = {{0, twos, 2}, {10, twos, 2}, {20, twos, 2}, {60, twos, 2}};
    const Result<i64> moved = with_failing(n, failures, [&] { return lazy.write(scattered); });
    EXPECT_EQ(moved.value(), 8);
    EXPECT_TRUE(lazy.flush().ok());
    EXPECT_EQ(below->read({&back, 1}).value(), 64);
    for (i64 i = 0; i < 64; ++i) {
      const bool two = i < 2 || (i >= 10 && i < 12) || (i >= 20 && i < 22) || (i >= 60 && i < 62);
      EXPECT_EQ(got[i], two ? std::byte{2} : i >= 8 && i < 48 ? std::byte{1} : std::byte{0}) << i;
    }
    return failures;
  });
}

// The only thread is busy, so what was started and not waited for is seen by what it holds.
TEST(StorageMemoryFault, AFailedStartLeavesNoTransfer) {
  const auto pool = std::make_shared<TransferPool>(1);
  std::atomic<bool> over{false};
  const auto busy = pool->start([&]() -> Result<i64> {
    over.wait(false);
    return 0;
  });
  for (const auto& queue : {posix::make_thread_queue(pool), posix::make_uring_queue()}) {
    if (!queue) continue;   // no io_uring here
    const FileOnDisk file;
    sweep_without_reserve([&](long n) {
      long failures = 0;
      std::byte data[4]{};
      auto fd = std::make_shared<posix::OpenFd>(::open(file.name, O_RDWR));
      auto started = with_failing(n, failures, [&]() -> Result<std::unique_ptr<Transfer>> {
        return queue->start(fd, Direction::kWrite, {{0, data, 1}, {2, data, 1}});
      });
      if (started) {
        const Result<i64> moved = (*started)->wait();
        EXPECT_TRUE(moved.ok() ? *moved == 2 : moved.error().cls == ErrorClass::kNoMem);
        started = std::unique_ptr<Transfer>();
      }
      EXPECT_EQ(fd.use_count(), 1);
      EXPECT_TRUE(fd->close().ok());
      return failures;
    });
  }
  over = true;
  over.notify_all();
}

}  // namespace
}  // namespace mercutio
