// File systems that can't be mounted in a test: fstatfs(2) of this program gives their magic number.
#include "storage/posix/file_system.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <set>
#include <string>

#include "storage/drivers.h"
#include "storage/posix/allocate.h"
#include "storage/posix/transfer.h"

namespace {
thread_local unsigned long told_magic = 0;   // 0: the kernel's answer
thread_local ino_t told_inode = 0;           // 0: the kernel's answer
thread_local bool told_empty = false;        // fstat(2) takes files for empty, as where a client keeps attributes
thread_local int timer_interrupts = 0;       // that fallocate(2) sees at most
thread_local int stale_reads = 0;            // number of reads to come that take the file for empty, as Linux 6.1 does on CephFS
}

extern "C" int fstatfs(int fd, struct statfs* to) noexcept {
  const long code = ::syscall(SYS_fstatfs, fd, to);
  if (code == 0 && told_magic != 0) to->f_type = static_cast<decltype(to->f_type)>(told_magic);
  return static_cast<int>(code);
}
extern "C" int fstatfs64(int fd, struct statfs64* to) noexcept { return fstatfs(fd, reinterpret_cast<struct statfs*>(to)); }

extern "C" int fstat(int fd, struct stat* to) noexcept {
  const int code = ::fstatat(fd, "", to, AT_EMPTY_PATH);
  if (code == 0 && told_empty) to->st_size = 0;
  if (code == 0 && told_inode != 0) to->st_ino = told_inode;
  return code;
}

// As on tmpfs under a timer that is faster than the allocation, but not for ever.
extern "C" int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  if (timer_interrupts > 0 && !sigismember(&blocked, SIGALRM)) {
    --timer_interrupts;
    errno = EINTR;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, bytes));
}

extern "C" ssize_t pread(int fd, void* data, size_t bytes, off_t offset) {
  static const auto next = reinterpret_cast<decltype(&pread)>(::dlsym(RTLD_NEXT, "pread"));
  if (stale_reads == 0) return next(fd, data, bytes, offset);
  --stale_reads;
  if (offset > 4095) return -offset;   // what libc takes for no error
  errno = static_cast<int>(offset);    // which the kernel returned with its sign changed
  return offset == 0 ? 0 : -1;
}

namespace mercutio::posix {
namespace {

// An offset of 4 is EINTR, one of 64 an error, and one of 0 the end of the file.
TEST(FileSystem, CephIsReadAgainWhereItsSizeWasAnOldOne) {
  const int fd = ::open(::testing::TempDir().c_str(), O_TMPFILE | O_RDWR, 0600);
  if (fd < 0) GTEST_SKIP() << "no file without a name here";
  const std::string text(100, 'x');
  ASSERT_EQ(::pwrite(fd, text.data(), text.size(), 0), 100);
  std::array<std::byte, 200> got{};
  const auto read = [&](i64 offset, i64 bytes) {
    const IoPiece piece{offset, got.data(), bytes};
    return transfer(fd, Direction::kRead, {&piece, 1});
  };
  told_magic = 0x00C36400;
  for (const i64 offset : {0, 4, 64}) {
    for (const i64 bytes : {i64{100} - offset, i64{150}}) {
      stale_reads = 3;
      EXPECT_EQ(read(offset, bytes).value(), 100 - offset);
      EXPECT_EQ(stale_reads, 0);
    }
  }
  EXPECT_EQ(read(100, 10).value(), 0);
  stale_reads = 1;
  EXPECT_EQ(read(120, 10).error().sys_errno, 120) << "no byte is there";
  stale_reads = 1000;
  EXPECT_EQ(read(64, 10).error().sys_errno, 64) << "not without an end";
  stale_reads = 1000;
  EXPECT_EQ(read(EFAULT, 10).error().sys_errno, EFAULT);
  ASSERT_EQ(::pwrite(fd, text.data(), text.size(), 100'000), 100);
  stale_reads = 3;
  EXPECT_EQ(read(100'000, 100).value(), 100);
  stale_reads = 1000;
  EXPECT_EQ(read(100'000, 100).error().sys_errno, EIO) << "not what errno was before";
  told_magic = 0;
  stale_reads = 1;
  EXPECT_EQ(read(64, 10).error().sys_errno, 64) << "of another file system";
  stale_reads = 0;
  ::close(fd);
}

// Another node may have made the file longer since this one was told its size.
TEST(FileSystem, AllocationByWritingAsksTheServerForTheEnd) {
  const int fd = ::open(::testing::TempDir().c_str(), O_TMPFILE | O_RDWR, 0600);
  if (fd < 0) GTEST_SKIP() << "no file without a name here";
  const std::string text(100, 'x');
  ASSERT_EQ(::pwrite(fd, text.data(), text.size(), 0), 100);
  told_empty = true;
  const Status allocated = allocate_by_writing(fd, 200);
  told_empty = false;
  ASSERT_TRUE(allocated.ok());
  std::string got(200, 'y');
  ASSERT_EQ(::pread(fd, got.data(), got.size(), 0), 200);
  EXPECT_EQ(got, text + std::string(100, '\0'));
  ::close(fd);
}

TEST(FileSystem, ATimerDoesntKeepAllocationFromItsEnd) {
  const int fd = ::open(::testing::TempDir().c_str(), O_TMPFILE | O_RDWR, 0600);
  if (fd < 0) GTEST_SKIP() << "no file without a name here";
  timer_interrupts = 100;
  EXPECT_TRUE(allocate(fd, 4096).ok());
  EXPECT_EQ(timer_interrupts, 99);
  timer_interrupts = 0;
  ::close(fd);
}

TEST(FileSystem, FilesWithNeighbouringInodesHaveDifferentNumbers) {
  const int fd = ::open(::testing::TempDir().c_str(), O_TMPFILE | O_RDWR, 0600);
  if (fd < 0) GTEST_SKIP() << "no file without a name here";
  std::set<i64> numbers;
  told_magic = 0x0BD00BD0;
  for (told_inode = 1000; told_inode < 1008; ++told_inode) numbers.insert(traits_of(fd).file_number);
  told_magic = told_inode = 0;
  EXPECT_EQ(numbers.size(), 8U);
  EXPECT_EQ(numbers.count(0), 0U);
  ::close(fd);
}

Traits with_options(unsigned long magic, const char* options) {
  Traits traits;
  set_mount_traits(magic, Mount{"/mnt", "", options}, traits);
  return traits;
}

TEST(FileSystem, LocksOfSomeMountsStayOnTheNode) {
  EXPECT_TRUE(with_options(0x0BD00BD0, "rw,flock,lazystatfs").locks_between_nodes);
  EXPECT_FALSE(with_options(0x0BD00BD0, "rw,localflock,lazystatfs").locks_between_nodes);
  EXPECT_TRUE(with_options(0x6969, "rw,vers=4.2,local_lock=none").locks_between_nodes);
  EXPECT_FALSE(with_options(0x6969, "rw,vers=3,local_lock=all").locks_between_nodes);
}

TEST(FileSystem, MountsThatLetANodeKeepDataAreKnown) {
  constexpr unsigned long kCifs = 0xFF534D42, kNineP = 0x01021997;
  for (const char* option : {"loose", "fscache", "mmap", "readahead", "cache=loose", "cache=f", "cache=83", "cache=1"})
    EXPECT_EQ(with_options(kNineP, (std::string("rw,access=client,trans=virtio,") + option).c_str()).coherence, Coherence::kAfterOpen) << option;
  for (const char* option : {"cache=0", "cache=none", "cachetag=loose", "posixacl"})
    EXPECT_EQ(with_options(kNineP, (std::string("rw,") + option).c_str()).coherence, Coherence::kImmediate) << option;
  for (const char* option : {"cache=loose", "cache=singleclient"})
    EXPECT_EQ(with_options(kCifs, (std::string("rw,vers=3.1.1,") + option).c_str()).coherence, Coherence::kAfterOpen) << option;
  for (const char* option : {"cache=strict", "cache=none"}) EXPECT_EQ(with_options(kCifs, option).coherence, Coherence::kImmediate) << option;
}

TEST(FileSystem, BothClientsOfAfsAreKnown) {
  const int fd = ::open(::testing::TempDir().c_str(), O_TMPFILE | O_RDWR, 0600);
  if (fd < 0) GTEST_SKIP() << "no file without a name here";
  for (const unsigned long magic : {0x5346414FUL, 0x6B414653UL}) {
    told_magic = magic;
    EXPECT_EQ(traits_of(fd).coherence, Coherence::kAfterOpen);
    told_magic = 0;
  }
  ::close(fd);
}

// Its client keeps pages. Where fcntl grants locks (mount option local_lock) they are those of one node.
TEST(FileSystem, Pvfs2IsReadDirectlyAndHasNoLocksBetweenNodes) {
  const int fd = ::open(::testing::TempDir().c_str(), O_TMPFILE | O_RDWR, 0600);
  if (fd < 0) GTEST_SKIP() << "no file without a name here";
  told_magic = 0x20030528;
  Traits traits = traits_of(fd);
  told_magic = 0;
  EXPECT_EQ(traits.file_system, "pvfs2");
  EXPECT_EQ(traits.coherence, Coherence::kAfterOpen);
  EXPECT_EQ(traits.way, CoherenceWay::kDirect);
  EXPECT_FALSE(traits.locks_between_nodes);
  EXPECT_FALSE(traits.can_merge) << "a sieved write could undo one of another node";
  EXPECT_NE(traits.coherence_advice.find("pvfs2:/MOUNT/POINT/path"), std::string::npos);
  Traits by_locks = traits;
  make_coherent(fd, CoherenceWay::kNone, by_locks);
  EXPECT_EQ(by_locks.coherence, Coherence::kAfterOpen) << "to write on several nodes is an error";
  make_coherent(fd, CoherenceWay::kAuto, traits);
  EXPECT_TRUE(traits.coherence == Coherence::kImmediate || traits.way == CoherenceWay::kNone);
  ::close(fd);
}

// The process of a ceph-fuse mount learns of O_DIRECT when a file is opened, and of nothing that is set later.
TEST(FileSystem, CephFuseIsOpenedAnewOrLocked) {
  const std::string path = ::testing::TempDir() + "ceph_fuse_" + std::to_string(::getpid());
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  ::unlink(path.c_str());
  ASSERT_EQ(::lseek(fd, 7, SEEK_SET), 7);   // tells an open from another
  const auto made_coherent = [&] {
    Traits traits;
    traits.file_system = "fuse.ceph-fuse";
    traits.coherence = Coherence::kAfterOpen;
    traits.way = CoherenceWay::kDirect;
    traits.can_lock = traits.locks_between_nodes = true;
    make_coherent(fd, CoherenceWay::kAuto, traits);
    return traits;
  };
  rlimit before{}, none{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  none.rlim_max = before.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Traits locked = made_coherent();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(locked.way, CoherenceWay::kLocks) << "it can't be opened anew";
  EXPECT_EQ(::fcntl(fd, F_GETFL) & O_DIRECT, 0);
  EXPECT_EQ(::lseek(fd, 0, SEEK_CUR), 7);
  const int flags = ::fcntl(fd, F_GETFL);
  if (::fcntl(fd, F_SETFL, flags | O_DIRECT) == 0) {
    ASSERT_EQ(::fcntl(fd, F_SETFL, flags), 0);
    EXPECT_EQ(made_coherent().way, CoherenceWay::kDirect);
    EXPECT_NE(::fcntl(fd, F_GETFL) & O_DIRECT, 0);
    EXPECT_EQ(::lseek(fd, 0, SEEK_CUR), 0) << "it was not opened anew";
  }
  ::close(fd);
}

// Whoever opens the file then may be shown what was there before other nodes wrote (GlusterFS).
TEST(FileSystem, CloseForgetsThePagesThatDirectWritesHavePassed) {
  const std::string path = ::testing::TempDir() + "pages_" + std::to_string(::getpid());
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  std::array<char, 4096> page{};
  const iovec into{page.data(), page.size()};
  const auto is_cached = [&] { return ::preadv2(fd, &into, 1, 0, RWF_NOWAIT) > 0; };
  const auto way_of_closed = [&](bool writes) {
    OpenOptions options;
    options.write = writes;
    told_magic = 0x6969;
    const auto storage = make_posix_driver()->open(path, options);
    told_magic = 0;
    EXPECT_TRUE(storage && (*storage)->close());
    return storage ? (*storage)->traits().way : CoherenceWay::kNone;
  };
  bool tells = false, stays = false;
  CoherenceWay way = CoherenceWay::kNone;
  for (int tries = 0; tries < 5 && !stays; ++tries) {   // the kernel may take a clean page away
    ASSERT_EQ(::pwrite(fd, page.data(), page.size(), 0), 4096);
    ASSERT_EQ(::fsync(fd), 0);   // pages that aren't written yet stay
    tells = is_cached();
    way = way_of_closed(/*writes=*/false);
    stays = is_cached() == tells;
  }
  EXPECT_TRUE(stays);
  way_of_closed(/*writes=*/true);
  const bool known = tells && way == CoherenceWay::kDirect;
  EXPECT_FALSE(known && is_cached());
  ::unlink(path.c_str());
  ::close(fd);
  if (!known) GTEST_SKIP() << "no O_DIRECT here, or nobody tells what is in the page cache";
}

}  // namespace
}  // namespace mercutio::posix
