// The driver of PVFS2 on a stand-in for its library (libraries/pvfs2.c, by LD_LIBRARY_PATH), which ends the process where a call isn't as the
// library needs it; and what the driver says where the library is missing or another one. It has not been run on servers of OrangeFS.
#include "pvfs2_test.h"

namespace {

TEST(MissingLibrary, IsNamed) {
  EXPECT_EQ(load(), ENOSYS);
  expect_said("libpvfs2.so.2 of OrangeFS 2.9");
  const char* const reason = std::getenv("MERCUTIO_TEST_WHY");
  ASSERT_NE(reason, nullptr);
  expect_said(reason);
}

TEST_F(Pvfs2, ReadsEndWithTheFile) {
  mercutio_driver_file* const file = open(name("a"));
  ASSERT_NE(file, nullptr);
  char data[100] = "text";
  ASSERT_EQ(move(file, true, {{1000, data, 10}}), 1);
  char got[300];
  std::memset(got, 7, sizeof got);
  const mercutio_driver_extent reads[] = {{900, got, 50}, {1005, got + 100, 100}, {2000, got + 200, 10}};
  int64_t moved = -1;
  ASSERT_EQ(driver->read(file, reads, 3, &moved), 0);
  EXPECT_EQ(moved, 55);
  EXPECT_EQ(got[0], 0) << "a hole";
  EXPECT_EQ(got[105], 7) << "beyond the end";
  ASSERT_EQ(driver->read(file, reads + 2, 1, &moved), 0);
  EXPECT_EQ(moved, 0);
  ASSERT_EQ(driver->set_size(file, kStrip * 7 + 5), 0);
  EXPECT_EQ(size(file), kStrip * 7 + 5);
  ASSERT_EQ(driver->set_size(file, 1003), 0);
  EXPECT_EQ(size(file), 1003);
  EXPECT_EQ(driver->sync(file), 0);
  EXPECT_EQ(asked("flush"), 1);
  EXPECT_EQ(driver->close(file), 0);
}

TEST_F(Pvfs2, NamesLieBelowTheMountPoint) {
  for (const std::string path : {name("a"), "/" + name("/./b"), name("folder/c:d")}) {
    mercutio_driver_file* const file = open(path);
    ASSERT_NE(file, nullptr) << path << ": " << driver->explain();
    EXPECT_EQ(driver->close(file), 0);
  }
  EXPECT_EQ(asked("lookup /b\n"), 1);
  EXPECT_EQ(asked("lookup /folder/c:d\n"), 1);
  ASSERT_EQ(::chdir(name("folder").c_str()), 0);
  mercutio_driver_file* const here = open("./e");
  ASSERT_EQ(::chdir("/"), 0);
  ASSERT_NE(here, nullptr) << driver->explain();
  EXPECT_EQ(asked("lookup /folder/e\n"), 1);
  EXPECT_EQ(driver->close(here), 0);
  for (const std::string& path : {std::string("/elsewhere/a"), folder_ + "/mountains/a", std::string("a"), std::string("server/a")}) {
    EXPECT_EQ(open(path), nullptr) << path;
    EXPECT_EQ(error_, EINVAL) << path;
    expect_said("pvfs2:/MOUNT/POINT/path");
    EXPECT_EQ(driver->remove(path.c_str()), EINVAL);
  }
  EXPECT_EQ(open(""), nullptr);
  EXPECT_EQ(error_, EINVAL);
  EXPECT_EQ(open(name(std::string(5000, 'x'))), nullptr);
  EXPECT_EQ(error_, ENAMETOOLONG);
}

TEST_F(Pvfs2, ErrorsOfNames) {
  EXPECT_EQ(open(name("absent"), kReadWrite), nullptr);
  EXPECT_EQ(error_, ENOENT);
  EXPECT_EQ(open(name("no/folder")), nullptr);
  EXPECT_EQ(error_, ENOENT);
  EXPECT_EQ(open(name("folder")), nullptr);
  EXPECT_EQ(error_, EISDIR);
  EXPECT_STREQ(driver->explain(), "");
  EXPECT_EQ(open(name("")), nullptr);
  EXPECT_EQ(error_, EISDIR);
  EXPECT_EQ(open(name("a/b")), nullptr);
  EXPECT_EQ(error_, ENOENT);
  EXPECT_EQ(driver->remove(name("folder").c_str()), EISDIR);
  EXPECT_TRUE(std::filesystem::exists(name("folder"))) << "an empty folder was removed";
  EXPECT_EQ(driver->remove(name("absent").c_str()), ENOENT);
  mercutio_driver_file* const file = open(name("a"), kNew | MERCUTIO_DRIVER_EXCLUSIVE);
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(driver->close(file), 0);
  EXPECT_EQ(open(name("a"), kNew | MERCUTIO_DRIVER_EXCLUSIVE), nullptr);
  EXPECT_EQ(error_, EEXIST);
  EXPECT_EQ(open(name("a/b")), nullptr);
  EXPECT_EQ(error_, ENOTDIR) << "a folder that is a file";
  EXPECT_EQ(driver->remove(name("a").c_str()), 0);
  EXPECT_EQ(open(name("a"), kReadWrite), nullptr);
  EXPECT_EQ(error_, ENOENT);
}

TEST_F(Pvfs2, ALinkStandsForItsFileAndIsDeletedItself) {
  mercutio_driver_file* file = open(name("a"));
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(driver->close(file), 0);
  std::filesystem::create_symlink("../mount/a", name("link"));
  std::filesystem::create_symlink("nowhere", name("loose"));
  file = open(name("link"), MERCUTIO_DRIVER_READ);
  ASSERT_NE(file, nullptr) << error_;
  EXPECT_EQ(driver->close(file), 0);
  EXPECT_EQ(open(name("loose")), nullptr);
  EXPECT_TRUE(error_ == EEXIST || error_ == ENOENT) << error_;
  EXPECT_EQ(driver->remove(name("link").c_str()), 0);
  file = open(name("a"), kReadWrite);
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(driver->close(file), 0);
}

TEST_F(Pvfs2, LayoutsAreAskedForAndTold) {
  struct Case { int64_t bytes, count, strip, servers; };
  for (const Case& c : {Case{0, 0, kStrip, kServers}, Case{16384, 2, 16384, 2}, Case{0, 1, kStrip, 1}, Case{1 << 20, 0, 1 << 20, kServers}, Case{4096, 100000, 4096, kServers}}) {
    mercutio_driver_options options = {};
    options.flags = kNew;
    options.stripe_bytes = c.bytes;
    options.stripe_count = c.count;
    mercutio_driver_file* const file = open(name("f" + std::to_string(c.bytes) + "." + std::to_string(c.count)), options);
    ASSERT_NE(file, nullptr) << error_ << driver->explain();
    mercutio_driver_traits traits = {};
    traits.size = sizeof traits;
    traits.first_server = -1;
    EXPECT_EQ(driver->get_traits(file, &traits), 0);
    EXPECT_EQ(traits.stripe_bytes, c.strip);
    EXPECT_EQ(traits.stripe_count, c.servers);
    EXPECT_EQ(traits.first_server, -1);
    EXPECT_EQ(traits.seen, MERCUTIO_DRIVER_SEEN_AT_ONCE);
    EXPECT_GT(traits.extents_per_call, 1000);
    EXPECT_GT(traits.file_number, 0);
    EXPECT_EQ(driver->close(file), 0);
  }
  EXPECT_EQ(driver->lock, nullptr) << "there are no locks";
}

TEST_F(Pvfs2, TheUmaskAndTheRightsOfAFileCount) {
  const mode_t before = ::umask(027);
  mercutio_driver_file* const file = open(name("a"));
  ::umask(before);
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(asked("create a 640"), 1);
  EXPECT_EQ(driver->close(file), 0);
  if (::geteuid() != 0) GTEST_SKIP() << "others' rights are tried by root";
  EXPECT_EQ(in_other_process("fails " + name("a") + " " + std::to_string(EACCES) + " nobody"), 0);
}

TEST_F(Pvfs2, OtherRanksAskNoServer) {
  mercutio_driver_file* const first = open(name("a"));
  ASSERT_NE(first, nullptr);
  char handle[256];
  size_t bytes = 0;
  ASSERT_EQ(driver->get_handle(first, handle, sizeof handle, &bytes), 0);
  ASSERT_GT(bytes, 0U);
  mercutio_driver_options options = {};
  options.flags = kReadWrite;
  options.rank = 1;
  options.handle = handle;
  options.handle_bytes = bytes;
  call<void>("standin_forget");
  mercutio_driver_file* const second = open(name("a"), options);
  ASSERT_NE(second, nullptr) << driver->explain();
  EXPECT_STREQ(call<const char*>("standin_asked"), "");
  Pattern pattern(64);
  for (int64_t i = 0; i < 64; ++i) pattern.add(10000 * i + i % 2, 1, i);
  EXPECT_GT(move(second, true, pattern.extents), 0);
  EXPECT_EQ(size(first), 630002);
  EXPECT_EQ(driver->close(second), 0);
  for (size_t wrong = 0; wrong < 2; ++wrong) {   // a handle of something else: by its name
    options.handle_bytes = wrong == 0 ? bytes - 1 : bytes;
    if (wrong == 1) handle[0] ^= 1;
    mercutio_driver_file* const third = open(name("a"), options);
    ASSERT_NE(third, nullptr) << driver->explain();
    EXPECT_EQ(asked("lookup /a\n"), static_cast<int>(wrong) + 1);
    EXPECT_EQ(driver->close(third), 0);
  }
  ASSERT_EQ(driver->get_handle(first, handle, 10, &bytes), 0);
  EXPECT_EQ(bytes, 0U) << "no room";
  EXPECT_EQ(driver->close(first), 0);
}

// The library keeps names and attributes for seconds, unless it is told not to.
TEST_F(Pvfs2, SeesWhatOtherProcessesDo) {
  mercutio_driver_file* const file = open(name("a"));
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(size(file), 0);
  ASSERT_EQ(in_other_process("write " + name("a") + " 300000"), 0);
  EXPECT_EQ(size(file), 300001);
  char byte = 0;
  EXPECT_EQ(move(file, false, {{300000, &byte, 1}}), 1);
  EXPECT_EQ(byte, 'x');
  EXPECT_EQ(driver->close(file), 0);
  ASSERT_EQ(in_other_process("remove " + name("a")), 0);
  EXPECT_EQ(open(name("a"), kReadWrite), nullptr);
  EXPECT_EQ(error_, ENOENT);
  ASSERT_EQ(in_other_process("write " + name("a") + " 7"), 0);
  mercutio_driver_file* const again = open(name("a"), kReadWrite);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(size(again), 8);
  EXPECT_EQ(driver->close(again), 0);
}

// It was not there when this process looked, and another one has made it before this one could.
TEST_F(Pvfs2, AnotherOneMakesItMeanwhile) {
  ASSERT_EQ(in_other_process("write " + name("a") + " 7"), 0);
  fail("sys_lookup:2:0:once");
  mercutio_driver_file* const file = open(name("a"));
  ASSERT_NE(file, nullptr) << error_;
  EXPECT_EQ(asked("create a "), 1);
  EXPECT_EQ(size(file), 8);
  EXPECT_EQ(driver->close(file), 0);
}
TEST_F(Pvfs2, ManyMakeOneFile) {
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      if (in_other_process("write " + name("a") + " " + std::to_string(i * 1000)) != 0) ++failed;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  mercutio_driver_file* const file = open(name("a"), kReadWrite);
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(size(file), 7001);
  for (int64_t i = 0; i < 8; ++i) {
    char byte = 0;
    EXPECT_EQ(move(file, false, {{i * 1000, &byte, 1}}), 1);
    EXPECT_EQ(byte, 'x') << i;
  }
  EXPECT_EQ(driver->close(file), 0);
}

TEST_F(Pvfs2, ThreadsTakeTurns) {
  mercutio_driver_file* const file = open(name("a"));
  ASSERT_NE(file, nullptr);
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int64_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int64_t k = 0; k < 50; ++k) {
        char data[100] = {};
        const mercutio_driver_extent extent = {(k * 4 + i) * 100, data, 100};
        int64_t moved = 0, bytes = 0;
        if (driver->write(file, &extent, 1, &moved) || moved != 100 || driver->get_size(file, &bytes)) ++failed;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(size(file), 20000);
  EXPECT_EQ(driver->close(file), 0);
}

// Each call that fails does so with its errno, and leaves nothing behind.
TEST_F(Pvfs2, EachCallMayFail) {
  mercutio_driver_file* const file = open(name("a"));
  ASSERT_NE(file, nullptr);
  char data[300] = {};
  const mercutio_driver_extent gaps[] = {{0, data, 100}, {200, data + 150, 100}};
  int64_t n = 0;
  struct Case { std::string what; std::function<int()> call; };
  const auto opened = [&](uint32_t flags, const char* which) { open(name(which), flags); return error_; };
  const Case cases[] = {
      {"sys_lookup", [&] { return opened(kReadWrite, "a"); }},
      {"sys_getattr", [&] { return opened(kReadWrite, "a"); }},
      {"sys_getattr", [&] { return driver->get_size(file, &n); }},
      {"sys_create", [&] { return opened(kNew, "b"); }},
      {"sys_io", [&] { return driver->write(file, gaps, 2, &n); }},
      {"sys_io", [&] { return driver->read(file, gaps, 2, &n); }},
      {"request", [&] { return driver->write(file, gaps, 2, &n); }},
      {"request:0", [&] { return driver->read(file, gaps, 2, &n); }},
      {"sys_truncate", [&] { return driver->set_size(file, 10); }},
      {"sys_flush", [&] { return driver->sync(file); }},
      {"sys_remove", [&] { return driver->remove(name("a").c_str()); }},
  };
  for (const Case& c : cases) {
    const std::string call = c.what.substr(0, c.what.find(':'));
    for (const int error : {ENOSPC, EDQUOT, EROFS, EACCES, ENOMEM, EIO}) {
      fail(call + ":" + std::to_string(error));
      EXPECT_EQ(c.call(), error) << c.what;
    }
    fail(call + ":" + std::to_string(ECONNREFUSED));
    EXPECT_EQ(c.call(), ECONNREFUSED) << c.what;
    expect_said("pvfs2-ping");
    fail(call + ":" + std::to_string(EINTR));
    EXPECT_EQ(c.call(), EIO) << "it would be called again for ever";
    for (const auto& [code, error] : std::vector<std::pair<const char*, int>>{{"n1", EIO}, {"n3", EIO}, {"n4", EHOSTUNREACH}, {"n6", EHOSTUNREACH}, {"n9", EACCES}, {"n99", EIO}}) {
      fail(call + ":" + code);
      EXPECT_EQ(c.call(), error) << c.what << " " << code;
      EXPECT_STRNE(driver->explain(), "") << code;
    }
  }
  ::unsetenv("MERCUTIO_TEST_PVFS2_FAIL");
  EXPECT_EQ(driver->close(file), 0);
}

TEST_F(Pvfs2, AnErrorAfterHalfOfItComesWithTheRest) {
  mercutio_driver_file* const file = open(name("a"));
  ASSERT_NE(file, nullptr);
  Pattern pattern(20000);
  for (int64_t i = 0; i < 200; ++i) pattern.add(301 * i + i % 2, 100, 100 * i);
  fail("sys_io:28:1");   // the disk is full after the first request
  int64_t moved = 0;
  EXPECT_EQ(driver->write(file, pattern.extents.data(), 200, &moved), 0);
  EXPECT_EQ(moved, 6400);
  EXPECT_EQ(driver->write(file, pattern.extents.data() + 64, 136, &moved), ENOSPC);
  EXPECT_EQ(driver->close(file), 0);
}

// A server's clock is ahead of this node's.
TEST_F(Pvfs2, ACredentialIsRenewedWhenAServerRefusesIt) {
  mercutio_driver_file* const file = open(name("a"));
  ASSERT_NE(file, nullptr);
  call<void>("standin_forget");
  call<void>("standin_revoke");
  EXPECT_EQ(size(file), 0);
  EXPECT_EQ(asked("credential"), 1);
  fail("sys_getattr:13");   // rights that are lacking
  int64_t bytes = 0;
  EXPECT_EQ(driver->get_size(file, &bytes), EACCES);
  EXPECT_EQ(driver->get_size(file, &bytes), EACCES);
  EXPECT_EQ(asked("credential"), 2) << "once only";
  ::unsetenv("MERCUTIO_TEST_PVFS2_FAIL");
  EXPECT_EQ(driver->close(file), 0);
}
TEST_F(Pvfs2, ACredentialIsRenewedBeforeItsEnd) {
  mercutio_driver_file* const file = open(name("a"));
  ASSERT_NE(file, nullptr);
  ::setenv("MERCUTIO_TEST_PVFS2_LIFETIME", "2", 1);
  call<void>("standin_revoke");
  EXPECT_EQ(size(file), 0);
  ::unsetenv("MERCUTIO_TEST_PVFS2_LIFETIME");
  call<void>("standin_forget");
  EXPECT_EQ(size(file), 0);
  EXPECT_EQ(size(file), 0);
  EXPECT_EQ(asked("credential"), 1);
  EXPECT_EQ(driver->close(file), 0);
}

// Its threads stay with the parent.
TEST_F(Pvfs2, AChildIsRefused) {
  mercutio_driver_file* const file = open(name("a"));
  ASSERT_NE(file, nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    int64_t bytes = 0;
    const bool refused = driver->get_size(file, &bytes) == ENOTRECOVERABLE && std::strstr(driver->explain(), "forked") != nullptr;
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(size(file), 0);
  EXPECT_EQ(driver->close(file), 0);
}

// What came of the start stays, and says what to do: the library can't be started again.
TEST_F(Pvfs2, TheStartMayFail) {
  const auto fails = [&](const std::string& setting, int error, const std::string& said) {
    const std::string out = folder_ + "/out";
    EXPECT_EQ(in_other_process("fails " + name("a") + " " + std::to_string(error) + " >" + out, setting), 0) << setting;
    std::string text;
    std::getline(std::ifstream(out), text);
    EXPECT_NE(text.find(said), std::string::npos) << said << " isn't in: " << text;
  };
  fails("PVFS2TAB_FILE=/nowhere", ENODEV, "PVFS2TAB_FILE or /etc/fstab");
  fails("MERCUTIO_TEST_PVFS2_FAIL=init_defaults:111", ECONNREFUSED, "its servers run");
  fails("MERCUTIO_TEST_PVFS2_FAIL=set_info:38", ENOSYS, "caches");
  fails("MERCUTIO_TEST_PVFS2_FAIL=set_info:38:1", ENOSYS, "caches");
  fails("MERCUTIO_TEST_PVFS2_FAIL=credential:13", EACCES, "credential");
}

// A release that keeps attributes elsewhere: nothing is trusted, and no file is left behind.
using Pvfs2OtherStructures = Pvfs2;
TEST_F(Pvfs2OtherStructures, AreRefused) {
  EXPECT_EQ(open(name("a")), nullptr);
  EXPECT_EQ(error_, ENOSYS);
  expect_said("other structures");
  EXPECT_FALSE(std::filesystem::is_symlink(name("a")));
}

// write NAME OFFSET: writes an x there. remove NAME. fails NAME ERRNO [nobody]: twice; says why. 0 if it was so.
int in_other_process(const std::vector<std::string>& words) {
  if (words.size() > 3 && (::setegid(65534) != 0 || ::seteuid(65534) != 0)) return 2;
  if (load() != 0) return 3;
  if (words[0] == "remove") return driver->remove(words[1].c_str());
  mercutio_driver_options options = {};
  options.size = sizeof options;
  options.flags = MERCUTIO_DRIVER_READ | MERCUTIO_DRIVER_WRITE | MERCUTIO_DRIVER_CREATE;
  options.permissions = 0666;
  mercutio_driver_file* file = nullptr;
  const int error = driver->open(words[1].c_str(), &options, &file);
  if (words[0] == "fails") {
    std::puts(driver->explain());
    return error == std::stoi(words[2]) && driver->open(words[1].c_str(), &options, &file) == error ? 0 : 4;
  }
  if (error) return 5;
  char byte = 'x';
  int64_t moved = 0;
  const mercutio_driver_extent extent = {std::stoll(words[2]), &byte, 1};
  return driver->write(file, &extent, 1, &moved) || moved != 1 || driver->close(file) ? 6 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 3 && std::string(argv[1]) == "--in-other-process") return in_other_process({argv + 2, argv + argc});
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
