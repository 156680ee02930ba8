// The driver of GlusterFS without a server: what it asks of the library (libraries/gfapi.c, by LD_LIBRARY_PATH), and what it says where that is
// missing or too old. With servers: tests/storage, gluster-driver.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <set>
#include <string>

#include "mercutio/driver.h"

namespace {

const mercutio_driver* driver = nullptr;

int load() {
  void* const library = ::dlopen(MERCUTIO_GLUSTER_DRIVER, RTLD_NOW | RTLD_LOCAL);
  if (!library) return ELIBACC;
  static const mercutio_driver_host host = {MERCUTIO_DRIVER_ABI, sizeof host, "test"};
  return reinterpret_cast<decltype(&mercutio_driver_init)>(::dlsym(library, "mercutio_driver_init"))(&host, &driver);
}

TEST(MissingLibrary, IsNamed) {
  EXPECT_EQ(load(), ENOSYS);
  const std::string why = driver->explain();
  const char* const reason = std::getenv("MERCUTIO_TEST_WHY");
  ASSERT_NE(reason, nullptr);
  for (const char* part : {"libgfapi.so.0", "libgfapi0", reason}) EXPECT_NE(why.find(part), std::string::npos) << part << " isn't in: " << why;
}

class Gluster : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(load(), 0) << driver->explain();
    void* const gfapi = ::dlopen("libgfapi.so.0", RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(gfapi, nullptr);
    asked_ = reinterpret_cast<const char* (*)()>(::dlsym(gfapi, "glfs_asked"));
    ASSERT_NE(asked_, nullptr);
    reinterpret_cast<void (*)()>(::dlsym(gfapi, "glfs_forget"))();
    fail_ = reinterpret_cast<void (*)(int)>(::dlsym(gfapi, "glfs_fail"));
    ASSERT_NE(fail_, nullptr);
  }
  mercutio_driver_file* open(const std::string& name, uint32_t flags = MERCUTIO_DRIVER_READ | MERCUTIO_DRIVER_WRITE) {
    mercutio_driver_options options = {};
    options.size = sizeof options;
    options.flags = flags;
    options.permissions = 0600;
    options.ranks = 1;
    mercutio_driver_file* file = nullptr;
    error_ = driver->open(name.c_str(), &options, &file);
    return error_ ? nullptr : file;
  }
  void open_and_close(const std::string& name) {
    if (mercutio_driver_file* const file = open(name)) EXPECT_EQ(driver->close(file), 0);
  }
  void expect_asked(const std::string& line) { EXPECT_NE(("\n" + asked()).find("\n" + line + "\n"), std::string::npos) << line << " isn't in:\n" << asked(); }
  std::string asked() { return asked_(); }
  void (*fail_)(int from_now) = nullptr;
  int error_ = 0;

 private:
  const char* (*asked_)() = nullptr;
};

TEST_F(Gluster, NamesHaveAServerAVolumeAndAPath) {
  open_and_close("one/first/a/b:c");
  expect_asked("new first");
  expect_asked("server tcp one 0");
  expect_asked("open /a/b:c 2");
  open_and_close("two:2400/second/a");
  expect_asked("server tcp two 2400");
  open_and_close("[fe80::1]:24/third/a");
  expect_asked("server tcp fe80::1 24");
  open_and_close("[fe80::2]/third/a");
  expect_asked("server tcp fe80::2 0");
  EXPECT_EQ(driver->remove("one/first/gone"), 0);
  expect_asked("unlink first /gone");
}

TEST_F(Gluster, OtherNamesAreRefused) {
  const std::string far(300, 'h');
  for (const std::string name : {std::string(), std::string("/a"), std::string("h"), std::string("h/"), std::string("h/v"), std::string("h/v/"), std::string("/v/p"),
                                 std::string(":1/v/p"), std::string("h:/v/p"), std::string("h:0/v/p"), std::string("h:65536/v/p"), std::string("h:1x/v/p"),
                                 std::string("h//p"), std::string("[::1/v/p"), std::string("[]/v/p"), std::string("[::1]2/v/p"), far + "/v/p", "h/" + far + "/p"}) {
    EXPECT_EQ(open(name), nullptr) << name;
    EXPECT_EQ(error_, EINVAL) << name;
    EXPECT_NE(std::string(driver->explain()).find("gluster://HOST/VOLUME/path"), std::string::npos) << name;
    EXPECT_EQ(driver->remove(name.c_str()), EINVAL) << name;
  }
  EXPECT_EQ(asked(), "");
}

TEST_F(Gluster, CachesArePassedByBeforeTheClientStarts) {
  open_and_close("caches/v/a");
  const std::string before = asked().substr(0, asked().find("init"));
  for (const char* cache : {"write-behind", "read-ahead", "io-cache", "open-behind", "md-cache", "nl-cache"})
    EXPECT_NE(before.find("option *-" + std::string(cache) + " pass-through on\n"), std::string::npos) << cache;
  EXPECT_NE(before.find("option *-quick-read max-file-size 0\n"), std::string::npos);
}

TEST_F(Gluster, AVolumeHasOneClient) {
  open_and_close("many/v/a");
  const size_t first = asked().size();
  open_and_close("many/v/b");
  EXPECT_EQ(asked().substr(first), "open /b 2\nclose /b\n");
}

TEST_F(Gluster, AVolumeThatIsNotThereIsNoMissingFile) {
  EXPECT_EQ(open("h/absent/a"), nullptr);
  EXPECT_EQ(error_, ENODEV);
  EXPECT_NE(std::string(driver->explain()).find("gluster volume status absent"), std::string::npos);
  expect_asked("fini");
}

TEST_F(Gluster, AClientIsAskedAgainWhatItsVolumeIsMadeOf) {
  open_and_close("h/late/a");
  EXPECT_EQ(error_, 0) << driver->explain();
  expect_asked("close /a");
}

// What their servers can't do isn't promised.
TEST_F(Gluster, ShardsAreSeenLateAndDispersedFilesHaveNoLocks) {
  for (const std::string volume : {"plain", "sharded", "dispersed"}) {
    mercutio_driver_file* const file = open("h/" + volume + "/a");
    ASSERT_NE(file, nullptr);
    mercutio_driver_traits traits = {};
    traits.size = sizeof traits;
    traits.locks = MERCUTIO_DRIVER_LOCKS_ALL;
    EXPECT_EQ(driver->get_traits(file, &traits), 0);
    EXPECT_EQ(traits.seen, volume == "sharded" ? MERCUTIO_DRIVER_SEEN_AFTER_OPEN : MERCUTIO_DRIVER_SEEN_AT_ONCE) << volume;
    EXPECT_EQ(traits.locks, volume == "dispersed" ? MERCUTIO_DRIVER_LOCKS_NOBODY : MERCUTIO_DRIVER_LOCKS_ALL) << volume;
    EXPECT_EQ(traits.advice != nullptr, volume == "sharded");
    EXPECT_EQ(traits.file_number, 77);
    EXPECT_EQ(driver->close(file), 0);
  }
}

TEST_F(Gluster, FilesAreMadeOrFound) {
  const auto create = MERCUTIO_DRIVER_WRITE | MERCUTIO_DRIVER_CREATE;
  mercutio_driver_file* file = open("h/v/new", create);
  expect_asked("creat /new 1 600");
  ASSERT_NE(file, nullptr);
  driver->close(file);
  file = open("h/v/made_meanwhile", create);
  expect_asked("open /made_meanwhile 1");
  ASSERT_NE(file, nullptr);
  driver->close(file);
  EXPECT_EQ(open("h/v/made_meanwhile", create | MERCUTIO_DRIVER_EXCLUSIVE), nullptr);
  EXPECT_EQ(error_, EEXIST);
  EXPECT_EQ(open("h/v/folder"), nullptr);
  EXPECT_EQ(error_, EISDIR);
  expect_asked("close /folder");
}

TEST_F(Gluster, LocksHaveOwnersOfTheirOwn) {
  mercutio_driver_file* const file = open("h/v/locked");
  ASSERT_NE(file, nullptr);
  mercutio_driver_range range = {sizeof range, 10, 30, 1, 1};
  std::set<std::string> owners;
  for (int64_t end : {int64_t{30}, INT64_MAX}) {
    range.end = end;
    const size_t begin = asked().size();
    void* lock = nullptr;
    ASSERT_EQ(driver->lock(file, &range, &lock), 0);
    ASSERT_EQ(driver->unlock(file, lock), 0);
    const std::string text = asked().substr(begin), owner = text.substr(5, text.find(' ', 5) - 5), bytes = end == 30 ? " 10+20\n" : " 10+0\n";
    EXPECT_EQ(text, "lock " + owner + " 1" + bytes + "lock " + owner + " 2" + bytes + "close /locked\n");
    owners.insert(owner);
  }
  EXPECT_EQ(owners.size(), 2U);
  EXPECT_EQ(owners.count("0"), 0U);
  range.begin = 1000;
  range.wait = 0;
  void* lock = nullptr;
  EXPECT_EQ(driver->lock(file, &range, &lock), EAGAIN);
  EXPECT_EQ(driver->close(file), 0);
}

// Of an earlier call that had nothing to do with it: EINTR would be tried again without an end, ENOENT be a missing file.
TEST_F(Gluster, AnErrorWithoutErrnoIsNoOldOne) {
  mercutio_driver_file* const file = open("silent/v/a");
  ASSERT_NE(file, nullptr);
  char byte = 0;
  int64_t number = 0;
  const mercutio_driver_extent extent = {0, &byte, 1};
  const mercutio_driver_range range = {sizeof range, 0, 1, 1, 1};
  void *held = nullptr, *lock = nullptr;
  ASSERT_EQ(driver->lock(file, &range, &held), 0);
  fail_(1);
  const auto with_old = [](auto call) { return errno = EINTR, call(); };
  EXPECT_EQ(with_old([&] { return driver->read(file, &extent, 1, &number); }), EIO);
  EXPECT_EQ(with_old([&] { return driver->write(file, &extent, 1, &number); }), EIO);
  EXPECT_EQ(with_old([&] { return driver->get_size(file, &number); }), EIO);
  EXPECT_EQ(with_old([&] { return driver->set_size(file, 1); }), EIO);
  EXPECT_EQ(with_old([&] { return driver->sync(file); }), EIO);
  EXPECT_EQ(with_old([&] { return driver->lock(file, &range, &lock); }), EIO);
  EXPECT_EQ(with_old([&] { return driver->unlock(file, held); }), EIO);
  EXPECT_EQ(with_old([&] { return driver->remove("silent/v/a"); }), EIO);
  EXPECT_EQ(with_old([&] { return open("silent/v/a"), error_; }), EIO);
  EXPECT_STREQ(driver->explain(), "libgfapi failed and gave no error number");
  EXPECT_EQ(with_old([&] { return open("silent/v/a", MERCUTIO_DRIVER_WRITE | MERCUTIO_DRIVER_CREATE), error_; }), EIO);
  EXPECT_EQ(with_old([&] { return open("silent/other/a"), error_; }), EIO);
  EXPECT_EQ(with_old([&] { return driver->close(file); }), EIO);
  fail_(0);
}

// 0, or which of the expectations of a child doesn't hold. The stand-in ends it where it uses its parent's client.
int in_child(mercutio_driver_file* parents, void* lock) {
  const auto refused = [](int error) { return error == ENOTRECOVERABLE && std::string(driver->explain()).find("forked") != std::string::npos; };
  char byte = 0;
  int64_t number = 0;
  const mercutio_driver_extent extent = {0, &byte, 1};
  const mercutio_driver_range range = {sizeof range, 0, 1, 1, 1};
  void* other = nullptr;
  if (!refused(driver->read(parents, &extent, 1, &number)) || !refused(driver->write(parents, &extent, 1, &number))) return 1;
  if (!refused(driver->get_size(parents, &number)) || !refused(driver->set_size(parents, 1)) || !refused(driver->sync(parents))) return 2;
  if (!refused(driver->lock(parents, &range, &other))) return 3;
  return driver->unlock(parents, lock) == 0 && driver->close(parents) == 0 && driver->remove("forked/v/a") == 0 ? 0 : 4;
}

TEST_F(Gluster, AChildHasAClientOfItsOwn) {
  mercutio_driver_file* const file = open("forked/v/a");
  ASSERT_NE(file, nullptr);
  const mercutio_driver_range range = {sizeof range, 0, 1, 1, 1};
  void* lock = nullptr;
  ASSERT_EQ(driver->lock(file, &range, &lock), 0);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(in_child(file, lock));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(driver->unlock(file, lock), 0);
  EXPECT_EQ(driver->close(file), 0);
}

}  // namespace
