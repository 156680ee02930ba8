#include "engine/progress.h"

#include <gtest/gtest.h>

namespace mercutio {
namespace {

Task<Result<i64>> waits_for(std::atomic<bool>& flag, i64 value) {
  co_await until([&] { return flag.load(); });
  co_return value;
}
Task<Result<i64>> fails() { co_return Error{ErrorClass::kIo, "broken"}; }

TEST(ProgressThread, DrivesSeveralBesideTheProgram) {
  std::atomic<bool> first{false}, second{false};
  std::atomic<i64> sum{0};
  auto progress = make_progress_thread();
  auto a = progress->start({waits_for(first, 1), true, [&](const Result<i64>& r) { sum += r.value(); }, nullptr});
  auto b = progress->start({waits_for(second, 2), true, [&](const Result<i64>& r) { sum += r.value(); }, nullptr});
  EXPECT_FALSE(a->done());
  second = true;
  EXPECT_EQ(b->wait().value(), 2);
  EXPECT_EQ(sum, 2);
  EXPECT_FALSE(a->done());
  first = true;
  EXPECT_EQ(a->wait().value(), 1);
  EXPECT_EQ(a->wait().value(), 1);
  EXPECT_TRUE(a->done());
  EXPECT_EQ(sum, 3);
}

TEST(ProgressThread, EndsWhatWasStartedBeforeItDies) {
  std::atomic<bool> flag{true};
  RequestRef request;
  {
    auto progress = make_progress_thread();
    request = progress->start({waits_for(flag, 5), true, nullptr, nullptr});
  }
  EXPECT_TRUE(request->done());
  EXPECT_EQ(request->wait().value(), 5);
}

TEST(HelpedProgress, AdvancesOnlyWithHelp) {
  std::atomic<bool> flag{false};
  std::atomic<i64> sum{0};
  auto progress = make_helped_progress();
  EXPECT_FALSE(progress->help());
  auto request = progress->start({waits_for(flag, 3), true, [&](const Result<i64>& r) { sum += r.value(); }, nullptr});
  EXPECT_TRUE(progress->help());
  EXPECT_FALSE(request->wait_for(std::chrono::microseconds(50)));
  flag = true;
  EXPECT_FALSE(request->done());
  EXPECT_FALSE(progress->help());
  EXPECT_TRUE(request->done());
  EXPECT_EQ(sum, 3);
}

// Two that need each other, waited for in the wrong order; errors are results, too.
TEST(HelpedProgress, WaitingForOneAdvancesAll) {
  std::atomic<bool> first{false}, second{false};
  auto progress = make_helped_progress();
  auto a = progress->start({waits_for(second, 1), true, [&](const Result<i64>&) { first = true; }, nullptr});
  auto b = progress->start({waits_for(first, 2), true, nullptr, nullptr});
  auto c = progress->start({fails(), true, [&](const Result<i64>&) { second = true; }, nullptr});
  EXPECT_EQ(b->wait().value(), 2);
  EXPECT_EQ(a->wait().value(), 1);
  EXPECT_EQ(c->wait().error().cls, ErrorClass::kIo);
}

// The message-passing library may call back while a task is inside it.
TEST(HelpedProgress, HelpInsideAStepDoesNothing) {
  auto progress = make_helped_progress();
  i64 steps = 0;
  auto calls_back = [](Progress& p, i64& n) -> Task<Result<i64>> {
    ++n;
    p.help();
    co_return n;
  };
  auto request = progress->start({calls_back(*progress, steps), true, nullptr, nullptr});
  EXPECT_EQ(request->wait().value(), 1);
}

}  // namespace
}  // namespace mercutio
