// Tests of the driver of PVFS2 on the stand-in for its library.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "mercutio/driver.h"

inline constexpr int64_t kStrip = 65536, kServers = 4;
inline const mercutio_driver* driver = nullptr;

inline int load() {
  void* const library = ::dlopen(MERCUTIO_PVFS2_DRIVER, RTLD_NOW | RTLD_LOCAL);
  if (!library) return ELIBACC;
  static const mercutio_driver_host host = {MERCUTIO_DRIVER_ABI, sizeof host, "test"};
  return reinterpret_cast<decltype(&mercutio_driver_init)>(::dlsym(library, "mercutio_driver_init"))(&host, &driver);
}

inline void expect_said(const std::string& part) {
  const std::string why = driver->explain();
  EXPECT_NE(why.find(part), std::string::npos) << part << " isn't in: " << why;
}

// A new folder, which is the mount point, and one beside it for the servers.
class Pvfs2 : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(load(), 0) << driver->explain();
    if (folder_.empty()) make_folder();
    std::filesystem::create_directories(folder_ + "/mount/folder");
    std::filesystem::create_directories(folder_ + "/store");
    std::ofstream(folder_ + "/tab") << "tcp://server:3334/fs " << folder_ << "/mount pvfs2 defaults 0 0\n";
    standin_ = ::dlopen("libpvfs2.so.2", RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(standin_, nullptr);
    call<void>("standin_forget");
  }
  void TearDown() override {
    for (const char* name : {"FAIL", "MOST"}) ::unsetenv((std::string("MERCUTIO_TEST_PVFS2_") + name).c_str());
    EXPECT_EQ(call<int>("standin_live"), 0) << "requests or distributions that weren't freed";
    std::filesystem::remove_all(folder_);
  }
  // The table is read once in a process, so all tests have the same.
  static void make_folder() {
    folder_ = ::testing::TempDir() + "pvfs2." + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
    ::setenv("PVFS2TAB_FILE", (folder_ + "/tab").c_str(), 1);
    ::setenv("MERCUTIO_TEST_PVFS2", (folder_ + "/store").c_str(), 1);
  }
  static void fail(const std::string& plan) { ::setenv("MERCUTIO_TEST_PVFS2_FAIL", plan.c_str(), 1); }
  // In a process of its own: main().
  // In another process; on another processor, by its emulator, which /proc/self/exe doesn't name.
  static int in_other_process(const std::string& what, const std::string& setting = "") {
    const char* const emulator = std::getenv("MERCUTIO_TEST_EMULATOR");
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    return std::system((setting + " " + (emulator != nullptr ? emulator : "") + " " + program + " --in-other-process " + what).c_str());
  }
  static std::string name(const std::string& file) { return folder_ + "/mount/" + file; }
  template <class Result>
  Result call(const char* function) const { return reinterpret_cast<Result (*)()>(::dlsym(standin_, function))(); }

  static constexpr uint32_t kReadWrite = MERCUTIO_DRIVER_READ | MERCUTIO_DRIVER_WRITE, kNew = kReadWrite | MERCUTIO_DRIVER_CREATE;
  mercutio_driver_file* open(const std::string& path, mercutio_driver_options options) {
    options.size = sizeof options;
    options.permissions = 0640;
    options.ranks = 2;
    mercutio_driver_file* file = nullptr;
    error_ = driver->open(path.c_str(), &options, &file);
    return error_ ? nullptr : file;
  }
  mercutio_driver_file* open(const std::string& path, uint32_t flags = kNew) {
    mercutio_driver_options options = {};
    options.flags = flags;
    return open(path, options);
  }
  int64_t size(mercutio_driver_file* file) {
    int64_t bytes = -1;
    EXPECT_EQ(driver->get_size(file, &bytes), 0) << driver->explain();
    return bytes;
  }
  // All of the extents, in as many calls as it takes; how many those were, or 0 after an error.
  int move(mercutio_driver_file* file, bool write, std::vector<mercutio_driver_extent> extents) {
    for (int calls = 1; calls < 1000; ++calls) {
      int64_t moved = 0;
      error_ = (write ? driver->write : driver->read)(file, extents.data(), extents.size(), &moved);
      if (error_ || moved == 0) return 0;
      size_t done = 0;
      for (; done < extents.size() && moved >= extents[done].bytes; ++done) moved -= extents[done].bytes;
      extents.erase(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(done));
      if (extents.empty()) return calls;
      extents[0].offset += moved;
      extents[0].data = static_cast<char*>(extents[0].data) + moved;
      extents[0].bytes -= moved;
    }
    return 0;
  }
  int asked(const std::string& what) const {
    const std::string all = "\n" + std::string(call<const char*>("standin_asked"));
    int count = 0;
    for (size_t at = all.find("\n" + what); at != std::string::npos; at = all.find("\n" + what, at + 1)) ++count;
    return count;
  }

  static inline std::string folder_;
  void* standin_ = nullptr;
  int error_ = 0;
};

// What is written by many extents, and read as one piece and by the same extents.
struct Pattern {
  std::vector<char> memory;
  std::vector<mercutio_driver_extent> extents;
  std::vector<char> expected;

  void add(int64_t offset, int64_t bytes, int64_t at) { extents.push_back({offset, memory.data() + at, bytes}); }
  explicit Pattern(size_t bytes) : memory(bytes) {
    for (size_t i = 0; i < bytes; ++i) memory[i] = static_cast<char>(1 + i * 31 % 251);
  }
  void expect() {
    for (const auto& extent : extents) {
      expected.resize(std::max(expected.size(), static_cast<size_t>(extent.offset + extent.bytes)));
      std::copy_n(static_cast<const char*>(extent.data), extent.bytes, expected.begin() + extent.offset);
    }
  }
};

class Pvfs2Data : public Pvfs2 {
 protected:
  void write_and_read(Pattern& pattern, const std::string& file_name) {
    mercutio_driver_file* const file = open(name(file_name));
    ASSERT_NE(file, nullptr) << driver->explain();
    pattern.expect();
    ASSERT_GT(move(file, true, pattern.extents), 0) << error_;
    expect_content(file, pattern.expected);
    const std::vector<char> before = pattern.memory;
    std::fill(pattern.memory.begin(), pattern.memory.end(), 0);
    ASSERT_GT(move(file, false, pattern.extents), 0) << error_;
    for (const auto& extent : pattern.extents) {
      const auto at = static_cast<const char*>(extent.data) - pattern.memory.data();
      ASSERT_EQ(std::memcmp(extent.data, before.data() + at, static_cast<size_t>(extent.bytes)), 0) << extent.offset;
    }
    EXPECT_EQ(driver->close(file), 0);
  }
  void expect_content(mercutio_driver_file* file, const std::vector<char>& expected) {
    ASSERT_EQ(size(file), static_cast<int64_t>(expected.size()));
    std::vector<char> got(expected.size(), 1);
    ASSERT_GT(move(file, false, {{0, got.data(), static_cast<int64_t>(got.size())}}), 0);
    ASSERT_EQ(std::mismatch(got.begin(), got.end(), expected.begin()).first - got.begin(), static_cast<std::ptrdiff_t>(got.size()));
  }
};
