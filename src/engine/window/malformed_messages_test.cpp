// Malformed messages are rejected with an Error, and none of their content is stored.
#include <gtest/gtest.h>

#include <cstring>

#include "comm/in_process.h"
#include "engine/engine.h"
#include "engine/agreement/messages.h"
#include "engine/test_support.h"

namespace mercutio {
namespace {

using namespace mercutio::testing;

ErrorClass class_of(const Status& status) {
  return status ? ErrorClass::kNone : status.error().cls;
}

// Rank 1 contributes `lowest` to the reduction of an agreement and then sends `report`.
void expect_agreement(i64 lowest, std::vector<i64> report, ErrorClass expected) {
  run_ranks(2, [&](Comm& comm) {
    Channel channel{&comm, 1};
    if (comm.rank() == 0) {
      EXPECT_EQ(class_of(drive(comm, agree(channel, ok_status()))), expected) << lowest;
      return;
    }
    i64 failing = lowest;
    ASSERT_TRUE(drive(comm, all_reduce(channel, std::span(&failing, 1), Reduce::kMin)));
    if (failing < 0 || failing > 1) return;
    const auto sent = std::as_bytes(std::span(report));
    std::vector<std::byte> data(sent.begin(), sent.end());
    ASSERT_TRUE(drive(comm, broadcast(channel, failing, data)));
  });
}

TEST(MalformedMessages, RejectsImpossibleFailureReports) {
  expect_agreement(-1, {}, ErrorClass::kIntern);
  expect_agreement(0, {}, ErrorClass::kIntern);
  const i64 io = static_cast<i64>(ErrorClass::kIo);
  expect_agreement(1, {io, 5, -1, -1}, ErrorClass::kIo);
  expect_agreement(1, {io, 5}, ErrorClass::kIntern);
  expect_agreement(1, {0, 5, -1, -1}, ErrorClass::kIntern);
  expect_agreement(1, {io + 1000, 5, -1, -1}, ErrorClass::kIntern);
  expect_agreement(1, {io, i64{1} << 40, -1, -1}, ErrorClass::kIntern);
}

TEST(MalformedMessages, RejectsImpossibleLengths) {
  for (const i64 length : {i64{-1}, INT64_MIN, INT64_MAX, i64{1} << 62}) {
    run_ranks(2, [length](Comm& comm) {
      const Channel channel{&comm, 1};
      i64 announced = length;
      if (comm.rank() == 1) {
        MessageSet sent;
        sent.add(comm.send(0, 1, const_bytes_of(std::span(&announced, 1))));
        while (!sent.done()) comm.backoff(1);
        return;
      }
      std::vector<std::byte> data;
      EXPECT_EQ(class_of(drive(comm, broadcast(channel, 1, data))), ErrorClass::kIntern) << length;
    });
  }
}

}  // namespace
}  // namespace mercutio
