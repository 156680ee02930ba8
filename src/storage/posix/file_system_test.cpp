// File systems that can't be mounted in a test: fstatfs(2) of this program gives their magic number.
#include "storage/posix/file_system.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace {
thread_local unsigned long told_magic = 0;   // 0: the kernel's answer
}

extern "C" int fstatfs(int fd, struct statfs* to) noexcept {
  const long code = ::syscall(SYS_fstatfs, fd, to);
  if (code == 0 && told_magic != 0) to->f_type = static_cast<decltype(to->f_type)>(told_magic);
  return static_cast<int>(code);
}
extern "C" int fstatfs64(int fd, struct statfs64* to) noexcept { return fstatfs(fd, reinterpret_cast<struct statfs*>(to)); }

namespace mercutio::posix {
namespace {

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

}  // namespace
}  // namespace mercutio::posix
