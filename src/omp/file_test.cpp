// Collective calls that fail: all threads return, with the same error.
#include "omp/file.h"

#include <gtest/gtest.h>

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
    for (int handle : {handle_, second_})
      if (files_.find(handle)) all([&](int) { return call(handle, Request(kClose)); });
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
  EXPECT_EQ(files_.find(handle_), nullptr);
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
    const ErrorClass lost = all([&](int thread) { return write(thread == wrong ? 999 : handle_); });
    EXPECT_TRUE(lost == ErrorClass::kNotSame || lost == ErrorClass::kFile) << error_class_name(lost);
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
  for (int handle : handles) {
    File* const file = files_.find(handle);
    files_.remove(handle);
    delete file;
  }
}

}  // namespace
}  // namespace mercutio::omp
