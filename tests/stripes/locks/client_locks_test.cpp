// What the clients of GPFS and Lustre are told of locks. GPFS's library is a stand-in (gpfs.c, by LD_LIBRARY_PATH). What Lustre's client takes: locks.c.
#include "storage/posix/client_locks.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace mercutio::posix {
namespace {

constexpr int kAccessRange = 1001, kFreeRange = 1002;

class Gpfs : public ::testing::Test {
 protected:
  void SetUp() override {
    locks_.give_back(fd_, false, 1);   // now it is loaded
    library_ = ::dlopen("libgpfs.so", RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(library_, nullptr);
    before_ = calls();
  }
  void TearDown() override {
    reinterpret_cast<void (*)(int)>(::dlsym(library_, "gpfs_answer"))(0);
    ::close(fd_);
  }
  template <class Number = int>
  Number told(const char* name) const {
    return reinterpret_cast<Number (*)()>(::dlsym(library_, name))();
  }
  int calls() const { return told("gpfs_calls") - before_; }
  void answer(int error) const { reinterpret_cast<void (*)(int)>(::dlsym(library_, "gpfs_answer"))(error); }

  ClientLocks locks_{"gpfs"};
  const int fd_ = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  void* library_ = nullptr;
  int before_ = 0;
};

TEST_F(Gpfs, ARangeIsAnnounced) {
  const IoPiece range{i64{3} << 30, nullptr, 5 << 20};
  locks_.will_write(fd_, {&range, 1});
  EXPECT_EQ(calls(), 1);
  EXPECT_EQ(told("gpfs_last_type"), kAccessRange);
  EXPECT_EQ(told<long long>("gpfs_last_start"), i64{3} << 30);
  EXPECT_EQ(told<long long>("gpfs_last_bytes"), 5 << 20);
}

// A token has one range: several would claim what lies between.
TEST_F(Gpfs, SeveralRangesAreNot) {
  const IoPiece ranges[] = {{0, nullptr, 10}, {100, nullptr, 10}};
  locks_.will_write(fd_, ranges);
  locks_.will_write(fd_, {});
  EXPECT_EQ(calls(), 0);
}

TEST_F(Gpfs, TokensAreGivenBack) {
  locks_.give_back(fd_, false, 7);
  EXPECT_EQ(calls(), 1);
  EXPECT_EQ(told("gpfs_last_type"), kFreeRange);
  EXPECT_EQ(told<long long>("gpfs_last_start"), 0);
  EXPECT_EQ(told<long long>("gpfs_last_bytes"), 0);
}

TEST_F(Gpfs, ARefusalIsTheLast) {
  answer(ENOSYS);
  const IoPiece range{0, nullptr, 4096};
  locks_.will_write(fd_, {&range, 1});
  locks_.will_write(fd_, {&range, 1});
  EXPECT_EQ(calls(), 1);
  answer(0);
  locks_.will_write(fd_, {&range, 1});
  EXPECT_EQ(calls(), 1);
}

TEST_F(Gpfs, OtherFileSystemsAreNotTold) {
  const IoPiece range{0, nullptr, 4096};
  for (const char* type : {"ext4", "nfs", "lustre"}) {
    ClientLocks locks(type);
    locks.will_write(fd_, {&range, 1});
    locks.give_back(fd_, true, 1);
  }
  EXPECT_EQ(calls(), 0);
}

TEST(WithoutLibrary, NothingHappens) {
  const int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const IoPiece range{0, nullptr, 4096};
  for (const char* type : {"gpfs", "lustre"}) {   // and a file that takes no ioctl of Lustre
    ClientLocks locks(type);
    locks.will_write(fd, {&range, 1});
    locks.give_back(fd, true, 1);
  }
  EXPECT_EQ(::fcntl(fd, F_GETFD), FD_CLOEXEC);
  ::close(fd);
}

}  // namespace
}  // namespace mercutio::posix
