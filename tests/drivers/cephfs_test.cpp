// The driver of CephFS without a cluster, with a stand-in for its library (libraries/cephfs.c, by LD_LIBRARY_PATH). With one: tests/storage.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <tuple>

#include "mercutio/driver.h"

namespace {

const mercutio_driver* driver = nullptr;

void* load() {
  void* const library = ::dlopen(MERCUTIO_CEPHFS_DRIVER, RTLD_NOW | RTLD_LOCAL);
  static const mercutio_driver_host host = {MERCUTIO_DRIVER_ABI, sizeof host, "test"};
  const auto init = library ? reinterpret_cast<decltype(&mercutio_driver_init)>(::dlsym(library, "mercutio_driver_init")) : nullptr;
  return init && init(&host, &driver) == 0 ? ::dlopen("libcephfs.so.2", RTLD_NOW | RTLD_NOLOAD) : nullptr;
}

mercutio_driver_file* open_file(uint32_t more_flags = 0, int64_t ranks = 1) {
  mercutio_driver_options options = {};
  options.size = sizeof options;
  options.flags = MERCUTIO_DRIVER_READ | MERCUTIO_DRIVER_WRITE | more_flags;
  options.ranks = ranks;
  mercutio_driver_file* file = nullptr;
  return driver->open("/x", &options, &file) == 0 ? file : nullptr;
}

// 0, or which of the expectations of a child doesn't hold.
int in_child(mercutio_driver_file* parents, void* lock, int (*mounted)()) {
  const auto refused = [](int error) { return error == ENOTRECOVERABLE && std::strstr(driver->explain(), "forked") != nullptr; };
  char byte = 0;
  int64_t number = 0;
  mercutio_driver_traits traits = {};
  const mercutio_driver_extent extent = {0, &byte, 1};
  const mercutio_driver_range range = {sizeof range, 0, 1, 1, 1};
  void* other = nullptr;
  if (!refused(driver->read(parents, &extent, 1, &number)) || !refused(driver->write(parents, &extent, 1, &number))) return 1;
  if (!refused(driver->get_size(parents, &number)) || !refused(driver->set_size(parents, 1)) || !refused(driver->sync(parents))) return 2;
  if (!refused(driver->get_traits(parents, &traits)) || !refused(driver->lock(parents, &range, &other))) return 3;
  const int before = mounted();
  mercutio_driver_file* const own = open_file();
  if (!own || mounted() != before + 1 || driver->get_size(own, &number) != 0) return 4;
  if (driver->unlock(parents, lock) != 0 || driver->close(parents) != 0) return 5;
  if (driver->get_size(own, &number) != 0 || driver->close(own) != 0 || mounted() != before) return 6;
  return driver->remove("/x") == 0 ? 0 : 7;
}

// The parent's client has no threads in a child, and the session is the parent's.
TEST(Cephfs, AChildHasAClientOfItsOwn) {
  void* const standin = load();
  ASSERT_NE(standin, nullptr);
  const auto mounted = reinterpret_cast<int (*)()>(::dlsym(standin, "cephfs_mounted"));
  ASSERT_NE(mounted, nullptr);
  mercutio_driver_file* const file = open_file();
  ASSERT_NE(file, nullptr);
  const mercutio_driver_range range = {sizeof range, 0, 1, 1, 1};
  void* lock = nullptr;
  ASSERT_EQ(driver->lock(file, &range, &lock), 0);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(in_child(file, lock, mounted));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(driver->unlock(file, lock), 0);
  EXPECT_EQ(mounted(), 1);
  EXPECT_EQ(driver->close(file), 0);
  EXPECT_EQ(mounted(), 0);
}

template <class Function>
Function function(void* standin, const char* name) {
  return reinterpret_cast<Function>(::dlsym(standin, name));
}

class LazyCephfs : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(standin_, nullptr); }
  void TearDown() override { fail(0, 0); }
  int count(const char* name) const { return function<int (*)()>(standin_, name)(); }
  void fail(int lazy, int sync) const { function<void (*)(int, int)>(standin_, "cephfs_fail")(lazy, sync); }
  static int write(mercutio_driver_file* file) {
    char bytes[100] = "x";
    const mercutio_driver_extent extent = {0, bytes, sizeof bytes};
    int64_t moved = 0;
    return driver->write(file, &extent, 1, &moved);
  }
  static int read(mercutio_driver_file* file) {
    char byte = 0;
    const mercutio_driver_extent extent = {0, &byte, 1};
    int64_t moved = 0;
    return driver->read(file, &extent, 1, &moved);
  }
  static bool keeps(mercutio_driver_file* file) {
    mercutio_driver_traits traits = {};
    traits.size = sizeof traits;
    EXPECT_EQ(driver->get_traits(file, &traits), 0);
    return traits.keeps_writes != 0;
  }
  void* const standin_ = load();
};

// A client may show pages that it has cached before another one wrote.
TEST_F(LazyCephfs, ReadsOfSharedFilesForgetWhatIsCached) {
  for (const int64_t ranks : {1, 2}) {
    mercutio_driver_file* const file = open_file(0, ranks);
    ASSERT_NE(file, nullptr);
    for (int i = 0; i < 2; ++i) {
      const int before = count("cephfs_forgotten");
      EXPECT_EQ(read(file), 0);
      EXPECT_EQ(count("cephfs_forgotten") - before, ranks > 1 ? 1 : 0);
    }
    fail(0, -EIO);
    EXPECT_EQ(read(file), ranks > 1 ? EIO : 0);
    fail(0, 0);
    EXPECT_EQ(driver->close(file), 0);
  }
}

TEST_F(LazyCephfs, OnlyWhereSeveralWriteAndMayKeep) {
  for (const auto& [flags, ranks, lazy] : {std::tuple(0u, int64_t{2}, false), {MERCUTIO_DRIVER_KEEP_WRITES, 1, false}, {MERCUTIO_DRIVER_KEEP_WRITES, 2, true}}) {
    mercutio_driver_file* const file = open_file(flags, ranks);
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(count("cephfs_lazy_files"), lazy) << flags << " " << ranks;
    EXPECT_EQ(keeps(file), lazy);
    EXPECT_EQ(write(file), 0);
    EXPECT_EQ(count("cephfs_kept"), lazy ? 100 : 0);
    EXPECT_EQ(driver->flush(file), 0);
    EXPECT_EQ(count("cephfs_kept"), 0);
    EXPECT_EQ(driver->close(file), 0);
  }
}

TEST_F(LazyCephfs, AReadOrALockEndsIt) {
  for (const bool locks : {false, true}) {
    mercutio_driver_file* const file = open_file(MERCUTIO_DRIVER_KEEP_WRITES, 2);
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(write(file), 0);
    const mercutio_driver_range range = {sizeof range, 0, 1, 1, 1};
    void* lock = nullptr;
    EXPECT_EQ(locks ? driver->lock(file, &range, &lock) : read(file), 0);
    EXPECT_EQ(count("cephfs_kept"), 0);
    EXPECT_EQ(count("cephfs_lazy_files"), 0);
    if (locks) EXPECT_EQ(driver->unlock(file, lock), 0);
    EXPECT_EQ(read(file), 0);
    EXPECT_EQ(driver->close(file), 0);
  }
}

TEST_F(LazyCephfs, ErrorsOfKeptDataAreTold) {
  mercutio_driver_file* const file = open_file(MERCUTIO_DRIVER_KEEP_WRITES, 2);
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(write(file), 0);
  fail(0, -ENOSPC);
  EXPECT_EQ(driver->flush(file), ENOSPC);
  EXPECT_EQ(read(file), ENOSPC);
  EXPECT_EQ(count("cephfs_lazy_files"), 1);   // or what is kept would be forgotten
  fail(0, 0);
  EXPECT_EQ(driver->close(file), 0);
  fail(-ENOTSUP, 0);
  mercutio_driver_file* const other = open_file(MERCUTIO_DRIVER_KEEP_WRITES, 2);   // a client that can't
  ASSERT_NE(other, nullptr);
  EXPECT_FALSE(keeps(other));
  EXPECT_EQ(read(other), 0);
  EXPECT_EQ(driver->close(other), 0);
}

TEST(Cephfs, ADirectoryIsNoFile) {
  void* const standin = load();
  ASSERT_NE(standin, nullptr);
  mercutio_driver_options options = {};
  options.size = sizeof options;
  options.flags = MERCUTIO_DRIVER_READ;
  mercutio_driver_file* file = nullptr;
  EXPECT_EQ(driver->open("/folder", &options, &file), EISDIR);
  for (const char* left : {"cephfs_open_files", "cephfs_mounted"}) EXPECT_EQ(reinterpret_cast<int (*)()>(::dlsym(standin, left))(), 0) << left;
}

}  // namespace
