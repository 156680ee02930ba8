#include "base/core_time.h"

#include <gtest/gtest.h>

#include <ctime>

namespace mercutio {
namespace {

TEST(CoreTime, IsWhatTheKernelSays) {
  EXPECT_EQ(core_time_in("673147 2005794 6\n"), (CoreTime{673147, 2005794, 6}));
  EXPECT_EQ(core_time_in("673147 2005794"), CoreTime{});
  EXPECT_EQ(core_time_in(""), CoreTime{});
  EXPECT_EQ((CoreTime{50, 7, 3}).since(CoreTime{20, 9, 1}), (CoreTime{30, 0, 2})) << "of another thread, perhaps";
}

TEST(CoreTime, AThreadThatWorksRuns) {
  const CoreTime before = core_time_of_this_thread();
  if (before == CoreTime{}) GTEST_SKIP() << "this kernel doesn't tell";
  timespec used{};
  while (core_time_of_this_thread().since(before).ran_ns < 20'000'000) {   // the kernel counts at ticks
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    ASSERT_LT(used.tv_sec, 20);
  }
}

}  // namespace
}  // namespace mercutio
