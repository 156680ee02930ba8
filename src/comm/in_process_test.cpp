#include "comm/in_process.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace mercutio {
namespace {

void finish(Comm& comm, Message& message) {
  for (i64 spins = 0;; ++spins) {
    auto done = message.test();
    ASSERT_TRUE(done.ok());
    if (*done) return;
    comm.backoff(spins);
  }
}

class InProcess : public ::testing::TestWithParam<i64> {};

TEST_P(InProcess, MessagesOfEverySizeArriveInOrder) {
  run_ranks(GetParam(), [](Comm& comm) {
    const i64 to = (comm.rank() + 1) % comm.size();
    const i64 from = (comm.rank() + comm.size() - 1) % comm.size();
    std::vector<std::vector<char>> out, in;
    std::vector<std::unique_ptr<Message>> messages;
    for (i64 bytes : {0, 1, 100, 5000, 100000}) {
      out.emplace_back(static_cast<size_t>(bytes), static_cast<char>('a' + comm.rank()));
      in.emplace_back(static_cast<size_t>(bytes));
    }
    for (size_t i = 0; i < out.size(); ++i) {
      messages.push_back(comm.send(to, 7, std::as_bytes(std::span(out[i]))).value());
      messages.push_back(comm.receive(from, 7, std::as_writable_bytes(std::span(in[i]))).value());
    }
    // All are polled: a large message moves when its receive is tested.
    for (i64 spins = 0; !messages.empty(); ++spins) {
      std::erase_if(messages, [](auto& message) { return message->test().value(); });
      comm.backoff(spins);
    }
    for (auto& data : in) EXPECT_EQ(data, std::vector<char>(data.size(), static_cast<char>('a' + from)));
  });
}

TEST_P(InProcess, AWrongLengthIsAnError) {
  run_ranks(GetParam(), [](Comm& comm) {
    char data[8] = {};
    auto sent = comm.send(comm.rank(), 1, std::as_bytes(std::span(data, 3)));
    auto received = comm.receive(comm.rank(), 1, std::as_writable_bytes(std::span(data, 8))).value();
    auto result = received->test();
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().cls, ErrorClass::kTruncate);
  });
}

TEST_P(InProcess, ACancelledReceiveDoesNotShiftTheNext) {
  run_ranks(GetParam(), [](Comm& comm) {
    char first = 'x', second = 'y', got = 0;
    { auto cancelled = comm.receive(comm.rank(), 1, std::as_writable_bytes(std::span(&got, 1))); }
    auto a = comm.send(comm.rank(), 1, std::as_bytes(std::span(&first, 1)));
    auto b = comm.send(comm.rank(), 1, std::as_bytes(std::span(&second, 1)));
    auto message = comm.receive(comm.rank(), 1, std::as_writable_bytes(std::span(&got, 1))).value();
    finish(comm, *message);
    EXPECT_EQ(got, 'y');
  });
}

TEST_P(InProcess, CountersAreShared) {
  std::vector<i64> seen(static_cast<size_t>(GetParam() * 100), 0);
  run_ranks(GetParam(), [&](Comm& comm) {
    auto counter = comm.make_shared_counter("").value();
    auto other = comm.make_shared_counter("").value();
    for (int i = 0; i < 100; ++i) seen[static_cast<size_t>(counter->fetch_add(1).value())] = 1;
    EXPECT_EQ(other->load().value(), 0);
  });
  EXPECT_EQ(seen, std::vector<i64>(seen.size(), 1));
}

INSTANTIATE_TEST_SUITE_P(Ranks, InProcess, ::testing::Values(1, 2, 3, 4, 7));

}  // namespace
}  // namespace mercutio
