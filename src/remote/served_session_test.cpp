#include "remote/served_session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

namespace mercutio::remote {
namespace {

using Admission = ServedSession::Admission;

bool sleeps(pid_t thread) {
  std::string stat;
  std::getline(std::ifstream("/proc/self/task/" + std::to_string(thread) + "/stat"), stat);
  return stat.find(") S ") != std::string::npos;
}

class ServedSessionTest : public ::testing::Test {
 protected:
  Admission admit(u64 id, Kind kind = Kind::kWrite) { return session.admit(id, kind, nullptr, 0); }
  void complete(u64 id, Kind kind = Kind::kWrite) { session.complete(id, kind, frame_with(Kind::kReply, id, Reply()), 0); }

  ServedSession session{SessionLimits{.unfinished = 4}};
};

TEST_F(ServedSessionTest, WhatIsFinishedIsNotBegunAnyMore) {
  session.finish(10, {5});
  EXPECT_EQ(admit(4), Admission::kAnswered);
  EXPECT_EQ(admit(5), Admission::kExecute);
  EXPECT_EQ(admit(9), Admission::kAnswered);
  EXPECT_EQ(admit(10), Admission::kExecute);
}

TEST_F(ServedSessionTest, AnEarlierReportThatComesLateChangesNothing) {
  session.finish(10, {5});
  session.finish(8, {5, 7});
  EXPECT_EQ(admit(7), Admission::kAnswered);
  EXPECT_EQ(admit(9), Admission::kAnswered);
  EXPECT_EQ(admit(5), Admission::kExecute);
}

TEST_F(ServedSessionTest, ALaterReportFinishesWhatWasStillAwaited) {
  session.finish(10, {5, 8});
  session.finish(6);
  EXPECT_EQ(admit(5), Admission::kAnswered);
  session.finish(20, {8, 15});
  EXPECT_EQ(admit(8), Admission::kExecute);
  EXPECT_EQ(admit(15), Admission::kExecute);
  EXPECT_EQ(admit(19), Admission::kAnswered);
}

TEST_F(ServedSessionTest, AnOpenRequestKeepsNoLaterReplies) {
  ASSERT_EQ(admit(1, Kind::kLock), Admission::kExecute);
  for (u64 id = 2; id < 100; ++id) {
    ASSERT_EQ(admit(id), Admission::kExecute);
    complete(id);
    session.finish(id + 1, {1});
  }
}

TEST_F(ServedSessionTest, TooManyUnfinishedRequestsAreRefused) {
  for (u64 id = 1; id <= 4; ++id) EXPECT_EQ(admit(id), Admission::kExecute);
  EXPECT_EQ(admit(5), Admission::kTooMany);
  session.finish(3);
  EXPECT_EQ(admit(5), Admission::kExecute);
}

TEST_F(ServedSessionTest, AnAbandonedChangeIsWaitedForUntilItEnds) {
  ASSERT_EQ(admit(1), Admission::kExecute);
  ASSERT_EQ(admit(2), Admission::kExecute);
  session.finish(3, {1});
  EXPECT_FALSE(session.await_forgotten(0));
  complete(2);
  EXPECT_TRUE(session.await_forgotten(0));
  EXPECT_EQ(admit(2), Admission::kAnswered);
}

// Else requests that a client gives up while each waits for the one before would wait for each other for ever.
TEST_F(ServedSessionTest, NobodyWaitsForARequestThatWaits) {
  for (u64 id = 1; id <= 3; ++id) ASSERT_EQ(admit(id), Admission::kExecute);
  session.finish(2);   // the first one is abandoned
  std::atomic<int> result{-1};
  std::atomic<pid_t> waiting{0};
  std::thread waits([&] {
    waiting = ::gettid();
    result = session.await_forgotten(60'000, 2) ? 1 : 0;
  });
  while (result == -1 && (waiting == 0 || !sleeps(waiting))) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(result, -1);
  session.finish(3);   // so is the second one
  waits.join();
  EXPECT_EQ(result, 0) << "it must not be executed any more";
  complete(1);
  EXPECT_TRUE(session.await_forgotten(0, 3)) << "the second one has changed nothing";
  complete(2);
  complete(3);
}

// Between its admission and its wait another stream may tell that it is abandoned.
TEST_F(ServedSessionTest, AnAbandonedRequestDoesNotWaitForItself) {
  ASSERT_EQ(admit(1), Admission::kExecute);
  session.finish(2);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(session.await_forgotten(20'000, 1)) << "it must not be executed any more";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  complete(1);
  EXPECT_TRUE(session.await_forgotten(0));
}

TEST_F(ServedSessionTest, AnAbandonedRequestThatWaitsBehindAnotherOneIsNoWork) {
  session.hold_up(7);
  ASSERT_EQ(admit(1), Admission::kExecute);
  session.finish(2);
  bool begun = false;
  ASSERT_TRUE(session.wait_behind(7, 0, 1, [&] { begun = session.begin_work(1); }));
  while (const auto work = session.next_behind(7)) work();
  EXPECT_FALSE(begun);
  EXPECT_TRUE(session.await_forgotten(0)) << "nobody will complete it";
  EXPECT_TRUE(session.retire(0));
}

// Whenever it is abandoned: before it waits, while it waits, or before it arrives. Changes of names wait for its end.
TEST_F(ServedSessionTest, ACloseIsExecutedAlthoughItIsAbandoned) {
  const u64 handle = *session.add_file(std::make_shared<ServedFile>());
  const auto admit_close = [&](u64 id) { return session.admit(id, Kind::kClose, nullptr, 0, {handle, ""}); };
  for (u64 id = 1; id <= 2; ++id) {
    session.hold_up(handle);
    ASSERT_EQ(admit_close(id), Admission::kExecute);
    if (id == 1) session.finish(id + 1);
    bool begun = false;
    ASSERT_TRUE(session.wait_behind(handle, 0, id, [&] { begun = session.begin_work(id); }));
    if (id == 2) session.finish(id + 1);
    EXPECT_FALSE(session.await_forgotten(0));
    while (const auto work = session.next_behind(handle)) work();
    EXPECT_TRUE(begun);
    EXPECT_FALSE(session.await_forgotten(0));
    EXPECT_FALSE(session.complete(id, Kind::kClose, Buffer(1), 0));
    EXPECT_TRUE(session.await_forgotten(0));
  }
  session.finish(4);
  EXPECT_EQ(admit_close(3), Admission::kExecute);
  EXPECT_EQ(admit_close(3), Admission::kAnswered);
  EXPECT_FALSE(session.await_forgotten(0));
  EXPECT_FALSE(session.complete(3, Kind::kClose, Buffer(1), 0));
  (void)session.take_file(handle);
  EXPECT_EQ(admit_close(3), Admission::kAnswered) << "it is closed";
  EXPECT_TRUE(session.retire(0));
}

TEST_F(ServedSessionTest, WhatWaitsBehindAnotherRequestIsExecutedInOrder) {
  std::vector<int> done;
  const auto work = [&](int number) { return [&done, number] { done.push_back(number); }; };
  EXPECT_FALSE(session.wait_behind(7, 10, 0, work(0)));   // nothing holds the file up
  session.hold_up(7);
  session.hold_up(7);
  EXPECT_TRUE(session.wait_behind(7, 10, 0, work(1)));
  EXPECT_TRUE(session.wait_behind(7, 10, 0, work(2)));
  EXPECT_FALSE(session.wait_behind(8, 10, 0, work(3)));
  while (const auto next = session.next_behind(7)) next();
  EXPECT_EQ(done, (std::vector<int>{1, 2}));
  EXPECT_TRUE(session.wait_behind(7, 10, 0, work(4)));   // for the other one
  while (const auto next = session.next_behind(7)) next();
  EXPECT_EQ(done, (std::vector<int>{1, 2, 4}));
  EXPECT_FALSE(session.any_held_up());
  EXPECT_FALSE(session.wait_behind(7, 10, 0, work(5)));
}

TEST_F(ServedSessionTest, OnlySoMuchWaitsBehindAnotherRequest) {
  session.hold_up(7);
  EXPECT_TRUE(session.wait_behind(7, 60 * MiB, 0, [] {}));
  EXPECT_FALSE(session.wait_behind(7, 5 * MiB, 0, [] {}));
  (void)session.next_behind(7);
  EXPECT_TRUE(session.wait_behind(7, 5 * MiB, 0, [] {}));
}

TEST_F(ServedSessionTest, WhatWaitsBehindAnotherRequestIsNoWorkYet) {
  for (u64 id = 1; id <= 3; ++id) ASSERT_EQ(admit(id), Admission::kExecute);
  session.hold_up(7);
  ASSERT_TRUE(session.wait_behind(7, 10, 2, [] {}));
  ASSERT_TRUE(session.wait_behind(7, 10, 3, [] {}));
  session.finish(4, {1, 3});   // the client has abandoned 2
  EXPECT_TRUE(session.await_forgotten(0));
  EXPECT_FALSE(session.begin_work(2));
  EXPECT_TRUE(session.begin_work(3));
  complete(1);
  EXPECT_FALSE(session.retire(0));   // 3 is being executed
  complete(3);
  EXPECT_TRUE(session.retire(0));
}

}  // namespace
}  // namespace mercutio::remote
