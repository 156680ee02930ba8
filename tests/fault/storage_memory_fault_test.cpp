// The storage where an allocation fails, and no reserve helps: the call is an error, and nothing is left behind.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "base/attempt.h"
#include "failing_heap.h"
#include "storage/drivers.h"
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
