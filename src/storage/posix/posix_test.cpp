// The posix driver against the operating system: errors in mid-transfer, closed files, locks between processes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>

#include "storage/drivers.h"
#include "storage/posix/allocate.h"
#include "storage/posix/file_system.h"
#include "storage/posix/transfer.h"

// As the C library's, but for the next calls that are to write nothing, and while calls hang.
static std::atomic<int> calls_that_write_nothing{0};
static std::atomic<bool> writes_hang{false};

extern "C" ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  while (writes_hang) ::usleep(100);
  if (calls_that_write_nothing > 0 && calls_that_write_nothing-- > 0) return 0;
  return ::syscall(SYS_pwrite64, fd, data, bytes, offset);
}

// As the C library's, but what it does comes instead of the next request for a shared lock, which another process holds then.
static std::function<void()> instead_of_lock;

extern "C" int fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  if (command == F_OFD_SETLK && instead_of_lock && static_cast<struct flock*>(argument)->l_type == F_RDLCK) {
    std::exchange(instead_of_lock, nullptr)();
    errno = EAGAIN;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fcntl, fd, command, argument));
}

namespace mercutio::posix {
namespace {

std::span<const IoPiece> one(const IoPiece& piece) {
  return {&piece, 1};
}

// Runs `work` in a child; its value is the exit code (a child can't report otherwise).
int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

class Posix : public ::testing::Test {
 protected:
  void TearDown() override { ::unlink(path_.c_str()); }
  std::unique_ptr<Storage> open(bool read = true, bool write = true) {
    OpenOptions options;
    options.read = read;
    options.write = options.create = write;
    auto opened = driver_->open(path_, options);
    return opened ? std::move(*opened) : nullptr;
  }
  IoPiece piece(i64 offset, i64 bytes) { return {offset, data_.data(), bytes}; }
  i64 size() const {
    struct stat status {};
    return ::stat(path_.c_str(), &status) == 0 ? i64{status.st_size} : -1;
  }

  std::unique_ptr<Driver> driver_ = make_posix_driver();
  std::string path_ = ::testing::TempDir() + "posix." + std::to_string(::getpid());
  std::vector<std::byte> data_ = std::vector<std::byte>(64 * KiB, std::byte{7});
};

// The limit makes the kernel write the part that fits, and refuse the rest when asked again.
TEST_F(Posix, AWriteThatStopsMidwayTellsWhere) {
  const int code = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{10000, 10000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    auto storage = open();
    if (!storage) return 2;
    const IoPiece pieces[] = {piece(0, 4000), piece(4000, 8000)};
    const auto written = storage->write(pieces);
    if (written.ok() || written.error().sys_errno != EFBIG) return 3;
    if (written.error().offset != 10000 || written.error().bytes != 2000 || written.error().moved != 10000) return 4;
    const auto started = storage->start(Direction::kWrite, {piece(9000, 2000)})->wait();
    if (started.ok() || started.error().moved != 1000) return 5;
    const IoPiece one = piece(7000, 5000), apart[] = {piece(0, 1000), piece(9500, 1000)};
    if (storage->write({&one, 1}).error().moved != 3000 || storage->write(apart).error().moved != 1500) return 7;
    return storage->preallocate(20000).ok() ? 6 : 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(size(), 10000);
}

// As Linux's client of pNFS does where it has to ask for a layout again.
TEST_F(Posix, WritesThatWriteNothingAreTriedAgain) {
  auto storage = open();
  calls_that_write_nothing = 3;
  EXPECT_EQ(storage->write(one(piece(0, 1000))).value(), 1000);
  EXPECT_EQ(calls_that_write_nothing, 0);
  calls_that_write_nothing = 3;
  EXPECT_EQ(storage->start(Direction::kWrite, {piece(1000, 500)})->wait().value(), 500);
  EXPECT_EQ(size(), 1500);
  calls_that_write_nothing = 1000;
  const auto written = storage->write(one(piece(2000, 100)));
  calls_that_write_nothing = 0;
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().sys_errno, EIO);
  EXPECT_EQ(written.error().offset, 2000);
}

TEST_F(Posix, AFullDevice) {
  OpenOptions options;
  options.write = true;
  auto full = driver_->open("/dev/full", options);
  if (!full) GTEST_SKIP() << "no /dev/full here";
  const auto written = (*full)->write(one(piece(0, 100)));
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().cls, ErrorClass::kNoSpace);
  EXPECT_EQ(written.error().offset, 0);
  EXPECT_EQ((*full)->start(Direction::kWrite, {piece(0, 100)})->wait().error().cls, ErrorClass::kNoSpace);
}

TEST_F(Posix, RefusesWhatHasNoOffsets) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  OpenOptions options;
  options.read = options.write = true;
  const auto opened = driver_->open(path_, options);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().cls, ErrorClass::kUnsupportedOperation);
  EXPECT_EQ(opened.error().sys_errno, ESPIPE);
}

TEST_F(Posix, RefusesToAllocateWhereNothingCanBe) {
  OpenOptions options;
  options.read = options.write = true;
  const auto device = driver_->open("/dev/null", options);
  ASSERT_TRUE(device.ok());
  const Status allocated = (*device)->preallocate(4096);
  ASSERT_FALSE(allocated.ok());
  EXPECT_EQ(allocated.error().cls, ErrorClass::kUnsupportedOperation);
}

TEST_F(Posix, PiecesThatNoFileCanHold) {
  auto storage = open();
  EXPECT_EQ(storage->write(one(piece(-1, 10))).error().cls, ErrorClass::kArg);
  EXPECT_EQ(storage->read(one(piece(0, -1))).error().cls, ErrorClass::kArg);
  EXPECT_EQ(storage->write(one(piece(INT64_MAX - 5, 10))).error().cls, ErrorClass::kArg);
  EXPECT_EQ(storage->read({}).value(), 0);
}

TEST_F(Posix, AccessNotOpenedFor) {
  ASSERT_TRUE(open()->write(one(piece(0, 100))).ok());
  auto reader = open(true, false);
  EXPECT_FALSE(reader->write(one(piece(0, 10))).ok());
  EXPECT_FALSE(reader->set_size(10).ok());
  EXPECT_TRUE(reader->lock(0, 10, true).ok()) << "what a reader can have is a shared lock";
  auto writer = open(false, true);
  EXPECT_FALSE(writer->read(one(piece(0, 10))).ok());
  EXPECT_TRUE(writer->lock(0, 10, false).ok());
}

TEST_F(Posix, AClosedFileTouchesNoOtherDescriptor) {
  auto storage = open();
  ASSERT_TRUE(storage->write(one(piece(0, 100))).ok());
  ASSERT_TRUE(storage->close().ok());
  const int other = ::open("/dev/null", O_RDWR);  // gets the number that was freed
  EXPECT_EQ(storage->close().error().cls, ErrorClass::kFile);
  EXPECT_FALSE(storage->read(one(piece(0, 10))).ok());
  EXPECT_FALSE(storage->write(one(piece(0, 10))).ok());
  EXPECT_FALSE(storage->start(Direction::kRead, {piece(0, 10)})->wait().ok());
  EXPECT_FALSE(storage->size().ok());
  EXPECT_FALSE(storage->lock(0, 10, true).ok());
  storage.reset();
  EXPECT_EQ(::close(other), 0) << "the storage closed a descriptor that wasn't its own any more";
}

TEST_F(Posix, CloseWaitsForStartedTransfers) {
  auto storage = open();
  std::vector<std::unique_ptr<Transfer>> transfers;
  for (i64 i = 0; i < 8; ++i) transfers.push_back(storage->start(Direction::kWrite, {piece(i * 64 * KiB, 64 * KiB)}));
  ASSERT_TRUE(storage->close().ok());
  EXPECT_EQ(size(), 512 * KiB);
  for (auto& transfer : transfers) EXPECT_EQ(transfer->wait().value(), 64 * KiB);
}

TEST_F(Posix, OthersMergeWhenStartedWritesHaveEnded) {
  auto storage = open(), other = open();
  writes_hang = true;
  auto transfer = storage->start(Direction::kWrite, {piece(0, 100)});
  std::thread closing([&] { EXPECT_TRUE(storage->close().ok()); });
  bool merges = false;
  for (int ms = 0; ms < 50 && !merges; ++ms) {
    merges = other->exclude_other_writers(false) != nullptr;
    ::usleep(1000);
  }
  EXPECT_FALSE(merges);
  writes_hang = false;
  closing.join();
  EXPECT_EQ(transfer->wait().value(), 100);
  EXPECT_NE(other->exclude_other_writers(false), nullptr);
}

TEST_F(Posix, TransfersAfterAFork) {
  auto storage = open();
  ASSERT_TRUE(storage->start(Direction::kWrite, {piece(0, 1000)})->wait().ok());
  const int code = in_child([&] {
    const auto written = storage->start(Direction::kWrite, {piece(1000, 500)})->wait();
    return written.ok() && *written == 500 ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(size(), 1500);
}

TEST_F(Posix, AChildClosesWhatTheParentMovesAt) {
  auto storage = open();
  writes_hang = true;
  auto transfer = storage->start(Direction::kWrite, {piece(0, 100)});
  const int code = in_child([&] {
    ::alarm(10);
    return storage->close().ok() ? 0 : 1;
  });
  writes_hang = false;
  EXPECT_EQ(code, 0);
  EXPECT_EQ(transfer->wait().value(), 100);
}

TEST_F(Posix, LocksExcludeProcesses) {
  auto mine = open();
  auto held = mine->lock(100, 200, true);
  ASSERT_TRUE(held.ok());
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto theirs = open();
    if (!theirs->lock(0, 100, true).ok() || !theirs->lock(200, 300, true).ok()) ::_exit(2);  // beside it: no wait
    if (::write(ready[1], "r", 1) != 1) ::_exit(3);
    auto theirs_now = theirs->lock(150, 160, false);
    std::byte seen{};
    const IoPiece back{150, &seen, 1};
    const auto got = theirs->read(one(back));
    ::_exit(theirs_now.ok() && got.ok() && *got == 1 && seen == std::byte{7} ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::usleep(50'000);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, WNOHANG), 0) << "the child didn't wait for the lock";
  ASSERT_TRUE(mine->write(one(piece(150, 1))).ok());
  held->reset();
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  ::close(ready[0]);
  ::close(ready[1]);
}

// Two threads take locks so that there is no moment without one: each keeps its own until the other one has got the next, at most 20 ms.
// Whether `late`, which needs a moment without, ends within 20 s all the same.
bool gets_its_turn(const std::function<std::unique_ptr<HeldLock>(int)>& take, const std::function<void()>& late) {
  std::atomic<i64> taken{0};
  std::atomic<bool> over{false};
  const auto keep_taking = [&](int who) {
    while (!over) {
      const auto held = take(who);
      const i64 mine = held ? ++taken : taken.load();
      for (int ms = 0; ms < 20 && taken == mine && !over; ++ms) ::usleep(1000);
    }
  };
  std::thread first(keep_taking, 0), second(keep_taking, 1);
  while (taken < 10) ::usleep(1000);
  std::atomic<bool> done{false};
  std::thread waiter([&] {
    late();
    done = true;
  });
  for (int ms = 0; ms < 20'000 && !done; ++ms) ::usleep(1000);
  const bool in_time = done;
  over = true;
  for (std::thread* const thread : {&first, &second, &waiter}) thread->join();
  return in_time;
}

TEST_F(Posix, SharedLocksDontStarveAnExclusiveOne) {
  std::unique_ptr<Storage> readers[] = {open(), open()};
  auto writer = open();
  EXPECT_TRUE(gets_its_turn([&](int who) { return std::move(*readers[who]->lock(0, 100, false)); },
                            [&] { EXPECT_TRUE(writer->lock(50, 60, true).ok()); }));
}

TEST_F(Posix, ReadOnlyFilesDontStarveAnExclusiveLock) {
  auto writer = open();
  std::unique_ptr<Storage> readers[] = {open(true, false), open(true, false)};
  EXPECT_TRUE(gets_its_turn([&](int who) { return std::move(*readers[who]->lock(0, 100, false)); },
                            [&] { EXPECT_TRUE(writer->lock(50, 60, true).ok()); }));
}

TEST_F(Posix, ExclusionsDontStarveAWriter) {
  OpenOptions options;
  options.read = options.write = options.create = true;
  options.group = WriterGroup{draw_first_mark(2), 0, 2};
  std::unique_ptr<Storage> writers[2];
  for (i64 rank = 0; rank < 2; ++rank) {
    options.group.rank = rank;
    writers[rank] = std::move(*driver_->open(path_, options));
  }
  ASSERT_TRUE(writers[0]->exclude_other_writers(/*promised=*/false) != nullptr);
  EXPECT_TRUE(gets_its_turn([&](int who) { return writers[who]->exclude_other_writers(/*promised=*/false); }, [&] { EXPECT_EQ(open()->write(one(piece(0, 1))).value(), 1); }));
}

// A write under a lock of its range, as beside an open that merges there.
TEST_F(Posix, AWriterThatWaitsForAMergeHoldsNoRangeOfIt) {
  auto merger = open(), writer = open();
  auto excluded = merger->exclude_other_writers(/*promised=*/false);
  ASSERT_TRUE(excluded != nullptr);
  std::thread late([&] {
    const auto held = writer->lock(0, 100, /*exclusive=*/false);
    EXPECT_TRUE(held.ok());
    EXPECT_EQ(writer->write(one(piece(0, 1))).value(), 1);
  });
  ::usleep(30'000);
  EXPECT_TRUE(merger->try_lock(0, 200, /*exclusive=*/false).value() != nullptr);
  EXPECT_FALSE(writer->try_lock(0, 100, /*exclusive=*/false).value());
  ::alarm(20);
  EXPECT_TRUE(merger->lock(0, 100, /*exclusive=*/true).ok());
  ::alarm(0);
  excluded.reset();
  late.join();
}

// A program may lock the whole file, as lockf(fd, F_LOCK, 0) does: in this process by a lock of the process, in another one by one of either
// kind. Nothing waits for it, and nobody merges until it is given back.
TEST_F(Posix, WritersDontWaitForALockOfTheWholeFile) {
  const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  for (const int command : {F_SETLK, F_OFD_SETLK}) {
    whole.l_type = F_WRLCK;
    ASSERT_EQ(::fcntl(fd, command, &whole), 0);
    auto first = open(), second = open();
    ::alarm(20);
    EXPECT_EQ(first->write(one(piece(0, 100))).value(), 100);
    EXPECT_EQ(second->start(Direction::kWrite, {piece(100, 100)})->wait().value(), 100);
    EXPECT_TRUE(first->set_size(300) && second->preallocate(400));
    EXPECT_FALSE(first->exclude_other_writers(/*promised=*/false) || second->exclude_other_writers(/*promised=*/false));
    if (command == F_SETLK) {
      EXPECT_TRUE(first->lock(0, 200, /*exclusive=*/false).ok()) << "what a plain write holds against merges";
      EXPECT_EQ(first->lock(0, 200, /*exclusive=*/true).error().sys_errno, EDEADLK);
    }
    whole.l_type = F_UNLCK;
    ASSERT_EQ(::fcntl(fd, command, &whole), 0);
    EXPECT_TRUE(first->exclude_other_writers(/*promised=*/false)) << "nobody else has written since";
    EXPECT_EQ(second->write(one(piece(100, 100))).value(), 100);
    EXPECT_FALSE(first->exclude_other_writers(/*promised=*/false)) << "the next write shows that somebody writes";
    ::alarm(0);
    EXPECT_TRUE(first->close() && second->close());
  }
  ::close(fd);
}

// A file that was opened, and not written to, keeps no program from locking it, and other processes' locks keep no write waiting.
TEST_F(Posix, LocksOfOtherProcessesAreNotWaitedFor) {
  auto storage = open();
  int ready[2], end[2];
  ASSERT_TRUE(::pipe(ready) == 0 && ::pipe(end) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    const int fd = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    ::close(end[1]);
    byte = static_cast<char>(::lockf(fd, F_TLOCK, 0));
    ::_exit(::write(ready[1], &byte, 1) == 1 && ::read(end[0], &byte, 1) == 0 ? 0 : 1);
  }
  char byte = 1;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 0) << "it has the lock";
  ::alarm(20);
  EXPECT_EQ(storage->write(one(piece(0, 100))).value(), 100);
  EXPECT_TRUE(storage->lock(0, 100, /*exclusive=*/false).ok());
  EXPECT_FALSE(*storage->try_lock(0, 100, /*exclusive=*/true)) << "atomic mode respects it";
  ::alarm(0);
  for (const int one_end : {end[0], end[1], ready[0], ready[1]}) ::close(one_end);
  int status = 0;
  EXPECT_TRUE(::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Who holds a range may ask for others while somebody waits for the first.
TEST_F(Posix, HoldersOfARangeDontWaitForTheirOwnWaiters) {
  auto holder = open(), waiter = open();
  auto first = holder->lock(0, 100, false);
  ASSERT_TRUE(first.ok());
  std::thread late([&] { EXPECT_TRUE(waiter->lock(0, 100, true).ok()); });
  bool waits = false;   // the turnstile is taken
  for (int ms = 0; ms < 20'000 && !waits; ++ms) {
    ::usleep(1000);
    waits = !*open()->try_lock(200, 300, false);
  }
  EXPECT_TRUE(waits);
  for (const bool exclusive : {false, true}) EXPECT_TRUE(holder->lock(200, 300, exclusive).ok());
  EXPECT_FALSE(*open()->try_lock(200, 300, false)) << "others wait for its turn";
  EXPECT_TRUE(release(std::move(*first)));
  late.join();
  EXPECT_TRUE(*open()->try_lock(200, 300, false)) << "it has had its turn";
}

TEST_F(Posix, ALockThatFailsLeavesNothingLocked) {
  auto mine = open(), other = open();
  auto held = mine->lock(0, 10, false);
  ASSERT_TRUE(held.ok());
  instead_of_lock = [&] { held->reset(); };   // by another thread
  const auto failed = mine->try_lock(5, 15, false);
  ASSERT_TRUE(failed.ok());
  EXPECT_EQ(*failed, nullptr);
  const auto free = other->try_lock(0, 15, true);
  ASSERT_TRUE(free.ok());
  EXPECT_NE(*free, nullptr);
}

TEST_F(Posix, LocksOfADeadProcessAreFree) {
  EXPECT_EQ(in_child([&] {
              static std::unique_ptr<HeldLock> kept;
              auto theirs = open();
              kept = std::move(*theirs->lock(0, 100, true));
              return 0;
            }),
            0);
  EXPECT_TRUE(open()->lock(0, 100, true).ok());
}

TEST_F(Posix, TraitsOfFileSystems) {
  const int proc = ::open("/proc/self/status", O_RDONLY);
  EXPECT_EQ(traits_of(proc).file_system, "unknown");
  ::close(proc);
  struct stat status {};
  if (::stat("/dev/shm", &status) != 0) GTEST_SKIP() << "no /dev/shm here";
  const int fd = ::open("/dev/shm", O_TMPFILE | O_RDWR, 0600);
  if (fd < 0) GTEST_SKIP() << "no file in /dev/shm";
  const Traits traits = traits_of(fd);
  EXPECT_EQ(traits.file_system, "tmpfs");
  EXPECT_TRUE(traits.can_lock && traits.coherence == Coherence::kImmediate && traits.sparse_files);
  EXPECT_EQ(traits.block_bytes, 4096);
  ::close(fd);
  EXPECT_TRUE(lock_refused(ENOLCK));
  EXPECT_FALSE(lock_refused(EAGAIN));
  EXPECT_FALSE(is_on_lustre("/dev/shm/x"));
  EXPECT_FALSE(is_on_lustre("x"));
}

TEST_F(Posix, AllocationByWritingKeepsWhatIsThere) {
  const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(fd, 0);
  ASSERT_TRUE(transfer(fd, Direction::kWrite, one(piece(3 * MiB, 64 * KiB))).ok());
  ASSERT_TRUE(allocate_by_writing(fd, 5 * MiB).ok());
  struct stat status {};
  ASSERT_EQ(::fstat(fd, &status), 0);
  EXPECT_EQ(status.st_size, 5 * MiB);
  EXPECT_GE(i64{status.st_blocks} * 512, 5 * MiB);
  std::vector<std::byte> whole(static_cast<size_t>(5 * MiB), std::byte{1});
  const IoPiece all{0, whole.data(), 5 * MiB};
  ASSERT_EQ(transfer(fd, Direction::kRead, one(all)).value(), 5 * MiB);
  for (i64 i = 0; i < 5 * MiB; ++i) {
    const bool written = i >= 3 * MiB && i < 3 * MiB + 64 * KiB;
    ASSERT_EQ(whole[static_cast<size_t>(i)], written ? std::byte{7} : std::byte{0}) << i;
  }
  ASSERT_TRUE(allocate_by_writing(fd, 100).ok());
  ASSERT_TRUE(allocate(fd, 0).ok());
  ASSERT_EQ(::fstat(fd, &status), 0);
  EXPECT_EQ(status.st_size, 5 * MiB) << "allocating less cuts nothing off";
  EXPECT_EQ(allocate(fd, -1).error().cls, ErrorClass::kArg);
  ::close(fd);
}

}  // namespace
}  // namespace mercutio::posix
