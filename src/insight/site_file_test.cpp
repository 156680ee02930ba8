// The names of records, and that making one harms nothing.
#include "insight/site_file.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace mercutio {
namespace {

const SiteFacts kFacts{"anna", "4711", "node1", "wrf.exe", 1000, 1'764'028'800};   // 2025-11-25

std::string path_of(const std::string& pattern, const SiteFacts& facts = kFacts) {
  const Result<std::string> path = site_path(pattern, facts);
  return path ? *path : "error";
}

std::string new_folder() {
  std::string name = ::testing::TempDir() + "site-XXXXXX";
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  return name;
}

mode_t mode_of(const std::string& path) {
  struct stat state {};
  EXPECT_EQ(::stat(path.c_str(), &state), 0) << path;
  return state.st_mode & 07777;
}

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(SiteFile, NamesComeFromThePattern) {
  EXPECT_EQ(path_of("/logs/%Y/%M/%D/%u-%j"), "/logs/2025/11/25/anna-4711.mjob");
  EXPECT_EQ(path_of("/logs/%d/%U.%h.%p.mjob"), "/logs/2025-11-25/1000.node1.wrf.exe.mjob");
  EXPECT_EQ(path_of("/logs/"), "/logs/anna-4711-wrf.exe.mjob");
  EXPECT_EQ(path_of("/logs/100%%"), "/logs/100%.mjob");
  for (const char* bad : {"logs/%j", "", "/logs/%q", "/logs/%"}) EXPECT_EQ(path_of(bad), "error") << bad;
}

TEST(SiteFile, WhatIsPutInCannotLeadElsewhere) {
  EXPECT_EQ(path_of("/logs/%u-%j", {"../../etc", "a/b c\n;", "", "", 0, 0}), "/logs/_._.._etc-a_b_c__.mjob");
  EXPECT_EQ(path_of("/logs/%u", {"", "", "", "", 0, 0}), "/logs/none.mjob");
  EXPECT_LE(path_of("/logs/%u", {std::string(10'000, 'x'), "", "", "", 0, 0}).size(), 100u);
}

// Support staff, who are the group of the records' folder, read what is in the folders that users' jobs make in it. The users are not in that group.
TEST(SiteFile, FoldersKeepTheirGroupWhereTheUserIsNotInIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  constexpr gid_t kSupport = 60;
  constexpr uid_t kNobody = 65534;
  std::string name = "/tmp/mercutio-site-XXXXXX";
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  ASSERT_EQ(::chown(name.c_str(), 0, kSupport), 0);
  ASSERT_EQ(::chmod(name.c_str(), 03753), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::umask(077);
    const bool nobody = ::setgroups(0, nullptr) == 0 && ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0;
    ::_exit(nobody && write_site_file(name + "/2026/11/a.mjob", "a record").ok() ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (const char* folder : {"/2026", "/2026/11"}) {
    struct stat state {};
    ASSERT_EQ(::stat((name + folder).c_str(), &state), 0) << folder;
    EXPECT_EQ(state.st_mode & 07777, mode_t{03753}) << folder;
    EXPECT_EQ(state.st_gid, kSupport) << folder;
  }
  EXPECT_EQ(mode_of(name + "/2026/11/a.mjob"), mode_t{0640});
  std::filesystem::remove_all(name);
}

// Beyond the limit a write ends the program with SIGXFSZ.
TEST(SiteFile, NoneWhereFilesMayNotBeSoLarge) {
  const std::string folder = new_folder();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{4, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status written = write_site_file(folder + "/a.mjob", "a record");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().sys_errno, EFBIG);
  EXPECT_NE(::access((folder + "/a.mjob").c_str(), F_OK), 0);
}

TEST(SiteFile, NothingIsOverwritten) {
  const std::string folder = new_folder(), path = folder + "/a.mjob";
  for (const char* text : {"one", "two", "three"}) EXPECT_TRUE(write_site_file(path, text).ok());
  EXPECT_EQ(content(path), "one");
  EXPECT_EQ(content(folder + "/a.2.mjob"), "two");
  EXPECT_EQ(content(folder + "/a.3.mjob"), "three");
  EXPECT_EQ(mode_of(path), 0600u);
}

TEST(SiteFile, FoldersAreAsTheOneAbove) {
  const std::string folder = new_folder(), path = folder + "/2025/11/a.mjob";
  ASSERT_EQ(::chmod(folder.c_str(), 03773), 0);   // group reads, others only add
  EXPECT_TRUE(write_site_file(path, "text").ok());
  EXPECT_EQ(mode_of(folder + "/2025/11"), 03773u);
  EXPECT_EQ(mode_of(path), 0640u);
}

TEST(SiteFile, NeverThroughALink) {
  const std::string folder = new_folder(), target = folder + "/precious";
  std::ofstream(target) << "precious";
  ASSERT_EQ(::symlink(target.c_str(), (folder + "/a.mjob").c_str()), 0);
  EXPECT_TRUE(write_site_file(folder + "/a.mjob", "text").ok());
  EXPECT_EQ(content(target), "precious");
  EXPECT_EQ(content(folder + "/a.2.mjob"), "text");
}

TEST(SiteFile, WhereItCannotBeMadeThereIsAnError) {
  const std::string folder = new_folder();
  std::ofstream(folder + "/file") << "no folder";
  EXPECT_FALSE(write_site_file(folder + "/file/a.mjob", "text").ok());
  EXPECT_FALSE(write_site_file("/proc/nowhere/a.mjob", "text").ok());
  EXPECT_FALSE(write_site_file("/dev/full/a.mjob", "text").ok());
}

}  // namespace
}  // namespace mercutio
