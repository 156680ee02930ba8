// Collective calls that fail: all threads return, with the same error.
#include "omp/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "omp/thread_team.h"
#include "storage/faulty.h"

namespace mercutio::omp {
namespace {

constexpr i64 kThreads = 4;
constexpr Routine kWrite{"write", Operation::kTransfer, Direction::kWrite, false, false};
constexpr Routine kRead{"read", Operation::kTransfer, Direction::kRead, false, false};
constexpr Routine kWriteCommon{"write_com", Operation::kTransfer, Direction::kWrite, true, false};
constexpr Routine kSync{"sync", Operation::kSync};
constexpr Routine kClose{"close", Operation::kClose};

class Fault : public ::testing::Test {
 protected:
  void SetUp() override {
    handle_ = open();
    second_ = open();
    plan_->fail_at = -1;
  }
  void TearDown() override {
    plan_->fail_at = -1;
    for (int handle : {handle_, second_}) all([&](int) { return call(handle, Request(kClose)); });
  }

  int open() {
    OpenOptions options;
    options.write = options.create = true;
    auto storage = resolve("memory:fault").driver->open("fault", options);
    auto file = std::make_unique<File>(team_.id());
    const int handle = file->adopt(make_faulty(std::move(*storage), plan_), files_);
    if (handle != 0) (void)file.release();   // the handle owns it
    return handle;
  }
  void fail_next(unsigned kind, i64 nth = 0) {
    plan_->kinds = kind;
    plan_->seen = 0;
    plan_->fail_at = nth;
  }
  Result<i64> call(int handle, const Request& request) { return call_file(team_, files_, handle, request); }
  Result<i64> write(int handle, i64 bytes = 8) { return call(handle, Request::single(kWrite, data_, bytes)); }

  // The class of the error, which must be the same on all threads; kNone: no error.
  template <class Body>
  ErrorClass all(Body body) {
    std::vector<Result<i64>> results(kThreads, Result<i64>(i64{0}));
    team_.run([&](int thread) { results[static_cast<size_t>(thread)] = body(thread); });
    for (const auto& result : results) {
      EXPECT_EQ(result.ok(), results[0].ok());
      if (result.ok() || results[0].ok()) continue;
      EXPECT_EQ(result.error().cls, results[0].error().cls) << result.error().what;
      text_ = result.error().what;
    }
    return results[0].ok() ? ErrorClass::kNone : results[0].error().cls;
  }

  std::shared_ptr<FaultPlan> plan_ = std::make_shared<FaultPlan>();
  Files files_;
  ThreadTeam team_{kThreads};
  char data_[64] = "what is written";
  int handle_ = 0;
  int second_ = 0;
  std::string text_;
};

TEST_F(Fault, AllThreadsGetAnErrorOfOneThreadsStorage) {
  for (i64 nth = 0; nth < kThreads; ++nth) {
    fail_next(kFaultWrite, nth);
    EXPECT_EQ(all([&](int) { return write(handle_); }), ErrorClass::kIo);
    EXPECT_NE(text_.find("failed on purpose"), std::string::npos) << text_;
  }
  EXPECT_EQ(all([&](int) { return write(handle_); }), ErrorClass::kNone) << "the file is as good as before";
  fail_next(kFaultSync);
  EXPECT_EQ(all([&](int) { return call(handle_, Request(kSync)); }), ErrorClass::kIo);
}

TEST_F(Fault, CloseReportsTheErrorAndReleasesTheFile) {
  fail_next(kFaultClose);
  EXPECT_EQ(all([&](int) { return call(handle_, Request(kClose)); }), ErrorClass::kIo);
  EXPECT_EQ(all([&](int) { return call(handle_, Request(kClose)); }), ErrorClass::kFile);
}

// The file pointer is unchanged, so the next write uses the same offset.
TEST_F(Fault, AFailedWriteDoesNotMoveThePointer) {
  fail_next(kFaultWrite, 2);
  EXPECT_EQ(all([&](int) { return write(handle_); }), ErrorClass::kIo);
  EXPECT_EQ(all([&](int) { return write(handle_); }), ErrorClass::kNone);
  EXPECT_EQ(all([&](int) { return call(handle_, Request::single(kRead, data_, 1)); }), ErrorClass::kNone);
  OpenOptions options;
  auto storage = resolve("memory:fault").driver->open("fault", options);
  EXPECT_EQ((*storage)->size().value(), 8 * kThreads);
}

TEST_F(Fault, AllThreadsGetAnErrorOfOneThreadsArguments) {
  for (int wrong = 0; wrong < kThreads; ++wrong) {
    EXPECT_EQ(all([&](int thread) { return write(handle_, thread == wrong ? -5 : 8); }), ErrorClass::kArg);
    EXPECT_NE(text_.find("thread " + std::to_string(wrong)), std::string::npos) << text_;
    EXPECT_EQ(all([&](int thread) { return write(thread == wrong ? second_ : handle_); }), ErrorClass::kNotSame);
    EXPECT_EQ(all([&](int thread) { return write(thread == wrong ? 999 : handle_); }), ErrorClass::kNotSame);
    EXPECT_EQ(
        all([&](int thread) { return call(handle_, Request::single(thread == wrong ? kRead : kWrite, data_, 8)); }),
        ErrorClass::kNotSame);
    EXPECT_EQ(all([&](int thread) { return thread == wrong ? call(handle_, Request(kClose)) : write(handle_); }),
              ErrorClass::kNotSame);
    EXPECT_EQ(
        all([&](int thread) { return call(handle_, Request::single(kWriteCommon, data_, thread == wrong ? 7 : 8)); }),
        ErrorClass::kNotSame);
    EXPECT_EQ(all([&](int) { return write(handle_); }), ErrorClass::kNone);
    EXPECT_EQ(all([&](int) { return write(second_); }), ErrorClass::kNone);
  }
}

// One thread opens a file, the others write, or the reverse; whoever comes first decides on which file they meet.
TEST_F(Fault, AllThreadsGetAnErrorIfOnlySomeOpen) {
  for (int handle : {handle_, 999}) {
    for (int openers : {0b0001, 0b0110, 0b1110}) {
      for (const bool opener_first : {true, false}) {
        std::vector<int> opened(kThreads, 7);
        const ErrorClass cls = all([&](int thread) -> Result<i64> {
          const bool opens = ((openers >> thread) & 1) != 0;
          if (opens != opener_first) std::this_thread::sleep_for(std::chrono::milliseconds(2));
          if (!opens) return write(handle);
          const Status status = open_file(
              team_, files_, OpenCall{&opened[static_cast<size_t>(thread)], "memory:other", O_CREAT | O_RDWR});
          return status ? Result<i64>(i64{0}) : Result<i64>(status.error());
        });
        EXPECT_EQ(cls, ErrorClass::kNotSame) << text_;
        for (int thread = 0; thread < kThreads; ++thread)
          EXPECT_EQ(opened[static_cast<size_t>(thread)], ((openers >> thread) & 1) != 0 ? -1 : 7);
      }
    }
  }
  EXPECT_EQ(all([&](int) { return write(handle_); }), ErrorClass::kNone);
}

// Two teams of which no thread can tell which one it is in.
TEST_F(Fault, RejectsATeamWhileOneLikeItIsInACall) {
  const auto write_here = [&](int thread) {
    if (thread > 0) return write(handle_);
    while (files_.take(handle_, TeamId{kThreads, 9}).found != Files::State::kInCall) std::this_thread::yield();
    ThreadTeam alike(kThreads);
    alike.run([&](int) {
      const Result<i64> result = call_file(alike, files_, handle_, Request::single(kWrite, data_, 8));
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.error().cls, ErrorClass::kComm);
      EXPECT_NE(result.error().what.find("another team"), std::string::npos) << result.error().what;
    });
    return write(handle_);
  };
  EXPECT_EQ(all(write_here), ErrorClass::kNone);
}

TEST_F(Fault, RejectsAnotherTeam) {
  for (const auto& [size, level] : {std::pair<i64, i64>{2, 1}, {8, 1}, {kThreads, 2}}) {
    ThreadTeam other(size, level);
    other.run([&](int) {
      const auto result = call_file(other, files_, handle_, Request::single(kWrite, data_, 8));
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.error().cls, ErrorClass::kComm);
    });
  }
  ThreadTeam alike(kThreads);
  alike.run([&](int) { EXPECT_TRUE(call_file(alike, files_, handle_, Request::single(kWrite, data_, 8)).ok()); });
}

TEST_F(Fault, RejectsTooManyFiles) {
  std::vector<int> handles;
  while (int handle = open()) handles.push_back(handle);
  EXPECT_GT(handles.size(), 4000U);
  EXPECT_EQ(all([&](int) { return write(handles.back()); }), ErrorClass::kNone);
  ThreadTeam one(1);
  one.run([&](int) {
    int handle = 0;
    const Status opened = open_file(one, files_, OpenCall{&handle, "memory:fault", 0});
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(handle, -1);
    EXPECT_NE(opened.error().what.find("too many open files"), std::string::npos);
  });
  EXPECT_EQ(all([&](int) {
              for (int handle : handles)
                if (Result<i64> closed = call(handle, Request(kClose)); !closed) return closed;
              return Result<i64>(i64{0});
            }),
            ErrorClass::kNone);
}

}  // namespace
}  // namespace mercutio::omp
