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
  auto a = progress->start(waits_for(first, 1), [&](const Result<i64>& r) { sum += r.value(); });
  auto b = progress->start(waits_for(second, 2), [&](const Result<i64>& r) { sum += r.value(); });
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
    request = progress->start(waits_for(flag, 5), nullptr);
  }
  EXPECT_TRUE(request->done());
  EXPECT_EQ(request->wait().value(), 5);
}

TEST(EagerProgress, IsDoneAtOnceAndReportsErrors) {
  auto progress = make_eager_progress();
  i64 calls = 0;
  auto request = progress->start(fails(), [&](const Result<i64>& r) { calls += r.ok() ? 10 : 1; });
  EXPECT_TRUE(request->done());
  EXPECT_EQ(request->wait().error().cls, ErrorClass::kIo);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace mercutio
