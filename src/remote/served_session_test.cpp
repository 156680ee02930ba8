#include "remote/served_session.h"

#include <gtest/gtest.h>

namespace mercutio::remote {
namespace {

using Admission = ServedSession::Admission;

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

}  // namespace
}  // namespace mercutio::remote
