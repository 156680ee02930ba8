// What Lustre's library is asked for, by a stand-in for it (lustre_api.c).
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "storage/posix/lustre.h"
#include "storage/posix/lustre_api.h"

namespace mercutio::posix {
namespace {

LayoutComponent wanted(i64 begin, i64 end, i64 stripe_bytes, i64 stripe_count) {
  LayoutComponent component;
  component.begin = begin, component.end = end, component.stripe_bytes = stripe_bytes, component.stripe_count = stripe_count;
  return component;
}

class LustreLibrary : public ::testing::Test {
 protected:
  void SetUp() override {
    library_ = ::dlopen(MERCUTIO_STAND_IN, RTLD_NOW);   // found by its name from now on
    ASSERT_NE(library_, nullptr) << ::dlerror();
    ::unlink(path_.c_str());
  }
  void TearDown() override { ::unlink(path_.c_str()); }
  std::string asked_for(const Layout& layout) {
    const int fd = create_by_library(path_, O_RDWR, 0600, layout);
    EXPECT_GE(fd, 0) << errno;
    ::close(fd);
    return reinterpret_cast<const char* (*)()>(::dlsym(library_, "lustre_api_asked"))();
  }

  void* library_ = nullptr;
  const std::string path_ = ::testing::TempDir() + "by_library." + std::to_string(::getpid());
};

TEST_F(LustreLibrary, IsAskedForComponents) {
  Layout layout;
  layout.components = {wanted(0, MiB, MiB, 1), wanted(MiB, kEndOfFile, 4 * MiB, 16)};
  layout.components[1].overstriped = true;
  layout.components[1].pool = "flash";
  EXPECT_EQ(asked_for(layout), "[0,1048576) 1*1048576 pattern 0 pool '' servers;[1048576,-1) 16*4194304 pattern 4 pool 'flash' servers;");
}

TEST_F(LustreLibrary, IsAskedForServers) {
  Layout layout;
  layout.components = {wanted(0, kEndOfFile, MiB, 3)};
  layout.components[0].servers = {9, 2, 5};
  EXPECT_EQ(asked_for(layout), "[0,0) 3*1048576 pattern 0 pool '' servers 0:9 1:2 2:5;");
  ::unlink(path_.c_str());
  layout.components[0].servers.clear();
  layout.first_server = 4;
  EXPECT_EQ(asked_for(layout), "[0,0) 3*1048576 pattern 0 pool '' servers 0:4;");
}

TEST_F(LustreLibrary, AFileThatIsThereStays) {
  Layout layout;
  layout.components = {wanted(0, kEndOfFile, MiB, 3)};
  (void)asked_for(layout);
  EXPECT_EQ(create_by_library(path_, O_RDWR, 0600, layout), -1);
  EXPECT_EQ(errno, EEXIST);
}

TEST_F(LustreLibrary, WhatItRefusesIsMadeWithoutIt) {
  reinterpret_cast<void (*)(int)>(::dlsym(library_, "lustre_api_refuse"))(EOPNOTSUPP);
  const auto open = [&](int flags) { return ::open(path_.c_str(), flags, 0600); };
  const int fd = create_striped({open, {}, path_}, O_RDWR | O_CLOEXEC, 0600, Layout{MiB, 2, -1});
  EXPECT_GE(fd, 0) << errno;
  ::close(fd);
}

}  // namespace
}  // namespace mercutio::posix
