#include "insight/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

namespace mercutio {
namespace {

constexpr i64 kNow = INT64_MAX;   // all is older

ConstBytes bytes_of(const std::string& text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class OutputFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "output-test-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name + "/";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  i64 entries() const { return std::distance(std::filesystem::directory_iterator(folder_), {}); }
  std::string folder_;
};

TEST_F(OutputFile, IsReplacedAsAWhole) {
  EXPECT_TRUE(is_plain_file(folder_ + "file"));
  EXPECT_TRUE(write_output(folder_ + "file", kNow, bytes_of("a longer text")).ok());
  EXPECT_TRUE(write_output(folder_ + "file", kNow, bytes_of("text")).ok());
  EXPECT_EQ(text_of(folder_ + "file"), "text");
  EXPECT_EQ(entries(), 1);
  EXPECT_FALSE(write_output(folder_ + "none/file", kNow, bytes_of("text")).ok());
  EXPECT_FALSE(write_output(folder_, kNow, bytes_of("text")).ok());
}

TEST_F(OutputFile, LinksStay) {
  std::filesystem::create_directory(folder_ + "there");
  ASSERT_EQ(::symlink("second", (folder_ + "first").c_str()), 0);
  ASSERT_EQ(::symlink("there/file", (folder_ + "second").c_str()), 0);
  for (const char* text : {"it was missing", "it was there"}) {
    EXPECT_TRUE(write_output(folder_ + "first", kNow, bytes_of(text)).ok());
    EXPECT_EQ(text_of(folder_ + "there/file"), text);
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ + "first") && std::filesystem::is_symlink(folder_ + "second"));
  }
  ASSERT_EQ(::symlink("loop", (folder_ + "loop").c_str()), 0);
  EXPECT_TRUE(write_output(folder_ + "loop", kNow, bytes_of("text")).ok());
}

TEST_F(OutputFile, WhatOthersHaveWrittenMeanwhileStays) {
  const i64 before = clock_of_files() - 1;
  for (const char* name : {"a.mtrace", "b", ".c", "d.e/f"}) {
    const std::string path = folder_ + name;
    std::filesystem::create_directory(folder_ + "d.e");
    EXPECT_EQ(write_output(path, before, bytes_of("first")).value(), "");
    const std::string second = write_output(path, before, bytes_of("second")).value();
    EXPECT_EQ(second, folder_ + (name == std::string("a.mtrace") ? "a.2.mtrace" : name + std::string(".2")));
    EXPECT_EQ(text_of(second), "second");
    EXPECT_EQ(text_of(path), "first");
    EXPECT_EQ(write_output(path, kNow, bytes_of("later")).value(), "");
    EXPECT_EQ(text_of(path), "later");
  }
}

TEST_F(OutputFile, NothingIsReplacedWhereNothingIsOlder) {
  const std::string path = folder_ + "app-7.mtrace";
  std::set<std::string> names = {path};
  EXPECT_EQ(write_output(path, kNothingIsOlder, bytes_of("1")).value(), "");
  for (int job = 2; job <= 60; ++job) names.insert(write_output(path, kNothingIsOlder, bytes_of(std::to_string(job))).value());
  EXPECT_EQ(names.size(), 60u);
  EXPECT_EQ(text_of(path), "1");
  EXPECT_EQ(text_of(folder_ + "app-7.20.mtrace"), "20");
  EXPECT_EQ(entries(), 60);
}

// Each has a name of its own, whichever comes first; the one of an earlier job is replaced by one of them.
TEST_F(OutputFile, JobsThatEndTogetherLoseNothing) {
  constexpr int kJobs = 8;
  for (int round = 0; round < 40; ++round) {
    const std::string path = folder_ + std::to_string(round) + ".mtrace";
    if (round % 2 == 0) {
      std::ofstream(path) << "old";
      std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    }
    const i64 begun = clock_of_files() - 1'000'000'000;
    std::vector<std::string> names(kJobs);
    std::vector<std::thread> jobs;
    for (int job = 0; job < kJobs; ++job) {
      jobs.emplace_back([&, job] { names[static_cast<std::size_t>(job)] = write_output(path, begun, bytes_of(std::to_string(job))).value(); });
    }
    for (std::thread& job : jobs) job.join();
    std::set<std::string> texts;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) texts.insert(text_of(entry.path()));
    EXPECT_EQ(texts.size(), std::size_t{kJobs});
    EXPECT_EQ(entries(), kJobs);
    for (int job = 0; job < kJobs; ++job) {
      const std::string& name = names[static_cast<std::size_t>(job)];
      EXPECT_EQ(text_of(name.empty() ? path : name), std::to_string(job));
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) std::filesystem::remove(entry.path());
  }
}

// Also where there is no reader, or it leaves.
TEST_F(OutputFile, APipeIsWrittenTo) {
  const std::string path = folder_ + "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(is_plain_file(path));
  const auto alone = write_output(path, kNow, bytes_of("text"));
  EXPECT_EQ(alone.ok() ? "" : alone.error().what, "nobody reads from it");
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  char text[16] = "";
  EXPECT_TRUE(write_output(path, kNow, bytes_of("a report")).ok());
  EXPECT_EQ(::read(reader, text, sizeof text), 8);
  EXPECT_STREQ(text, "a report");
  std::thread leaving([reader] {
    pollfd one{reader, POLLIN, 0};   // POLLHUP, too, until there is a writer again
    for (int tries = 0; tries < 5000 && !(one.revents & POLLIN); ++tries) {
      ::poll(&one, 1, 1);
      ::usleep(1000);
    }
    ::close(reader);
  });
  EXPECT_EQ(write_output(path, kNow, bytes_of(std::string(MiB, 'x'))).error().sys_errno, EPIPE);
  leaving.join();
  EXPECT_TRUE(std::filesystem::is_fifo(path));
  EXPECT_EQ(entries(), 1);
}

TEST_F(OutputFile, WhatIsOpenIsAppendedTo) {
  const int file = ::open((folder_ + "out").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::write(file, "before\n", 7), 7);
  ASSERT_EQ(::symlink(("/proc/self/fd/" + std::to_string(file)).c_str(), (folder_ + "link").c_str()), 0);
  EXPECT_FALSE(is_plain_file(folder_ + "link"));
  EXPECT_TRUE(write_output(folder_ + "link", kNow, bytes_of("a report\n")).ok());
  ::close(file);
  EXPECT_EQ(text_of(folder_ + "out"), "before\na report\n");
}

TEST_F(OutputFile, ADeviceStays) {
  const std::string path = folder_ + "null";
  if (::mknod(path.c_str(), S_IFCHR | 0600, static_cast<dev_t>(1 << 8 | 3)) != 0) GTEST_SKIP() << "devices can't be made here";
  const auto written = write_output(path, kNow, bytes_of("text"));
  EXPECT_TRUE(std::filesystem::is_character_file(path));
  EXPECT_TRUE(written.ok() || written.error().sys_errno == EACCES) << "a file system without devices";
}

}  // namespace
}  // namespace mercutio
