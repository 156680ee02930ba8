#include "storage/posix/direct_read.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace mercutio::posix {
namespace {

TEST(DirectRead, AForkWaitsForIt) {
  std::atomic<bool> under_way{false}, over{false};
  std::thread reader([&] {
    const DirectRead reading(true);
    under_way = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    over = true;
  });
  while (!under_way) std::this_thread::yield();
  const pid_t child = ::fork();
  if (child == 0) {
    const DirectRead reading(true);   // a child may read, too
    ::syscall(SYS_exit_group, over ? 0 : 1);   // at _exit() TSan would report the parent's thread, which isn't here
  }
  EXPECT_TRUE(over);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  reader.join();
}

TEST(DirectRead, AForkDoesNotWaitForOtherReads) {
  const DirectRead reading(false);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace mercutio::posix
