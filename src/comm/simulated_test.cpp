#include "comm/simulated.h"

#include <gtest/gtest.h>

#include <array>

namespace mercutio {
namespace {

// Rank 0 sends 1, 2, 3, ... to rank 1 with two tags; what arrives is noted in the order of completion.
struct Stream {
  explicit Stream(std::uint64_t seed, i64 fail_at = -1) : simulation(2, SimulationOptions{seed, 30, fail_at, 100000}) {
    for (i64 i = 0; i < 20; ++i) values[static_cast<size_t>(i)] = i;
  }
  bool send() {
    while (sent < 20) {
      auto started = simulation.comm(0).send(1, sent % 2, std::as_bytes(std::span(&values[static_cast<size_t>(sent)], 1)));
      if (!started) return true;
      sends.push_back(std::move(*started));
      ++sent;
    }
    return true;
  }
  bool receive() {
    if (receives.empty()) {
      for (i64 i = 0; i < 20; ++i) {
        auto started = simulation.comm(1).receive(0, i % 2, std::as_writable_bytes(std::span(&got[static_cast<size_t>(i)], 1)));
        if (!started) return true;
        receives.push_back(std::move(*started));
      }
    }
    for (size_t i = 0; i < receives.size(); ++i) {
      if (!receives[i]) continue;
      auto done = receives[i]->test();
      if (done && !*done) continue;
      if (!done) ++errors;
      receives[i].reset();
      order.push_back(got[i]);
    }
    return order.size() == 20;
  }
  Simulation::End run() {
    return simulation.run({[this] { return send(); }, [this] { return receive(); }});
  }
  Simulation simulation;
  std::array<i64, 20> values{}, got{};
  i64 sent = 0, errors = 0;
  std::vector<std::unique_ptr<Message>> sends, receives;
  std::vector<i64> order;
};

TEST(Simulated, MessagesOfATagKeepTheirOrderAndTagsOvertakeEachOther) {
  bool overtaken = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Stream stream(seed);
    ASSERT_EQ(stream.run(), Simulation::End::kDone);
    ASSERT_EQ(stream.got, stream.values);
    std::array<i64, 2> last{-1, -1};
    i64 highest = -1;
    for (i64 value : stream.order) {
      ASSERT_GT(value, last[static_cast<size_t>(value % 2)]);
      last[static_cast<size_t>(value % 2)] = value;
      overtaken |= value < highest;
      highest = std::max(highest, value);
    }
  }
  EXPECT_TRUE(overtaken);
}

TEST(Simulated, TheSeedSaysEverything) {
  Stream first(7), again(7), other(8);
  first.run();
  again.run();
  other.run();
  EXPECT_EQ(first.order, again.order);
  EXPECT_EQ(first.simulation.steps(), again.simulation.steps());
  EXPECT_NE(first.order, other.order);
}

TEST(Simulated, NobodyCanGoOn) {
  Simulation simulation(2, SimulationOptions{3});
  i64 value = 0;
  auto message = simulation.comm(1).receive(0, 0, std::as_writable_bytes(std::span(&value, 1)));
  ASSERT_TRUE(message.ok());
  EXPECT_EQ(simulation.run({[&] { return *(*message)->test(); }}), Simulation::End::kDeadlock);
}

TEST(Simulated, WorkThatNeverEndsIsGivenUp) {
  SimulationOptions options;
  options.most_steps = 500;
  Simulation simulation(1, options);
  EXPECT_EQ(simulation.run({[&] { return simulation.something_moved(), false; }}), Simulation::End::kTooLong);
}

TEST(Simulated, OneOperationFails) {
  i64 met = 0;
  for (i64 fail_at = 0; fail_at < 60; ++fail_at) {
    Stream stream(5, fail_at);
    stream.run();
    met += stream.simulation.failed() ? 1 : 0;
    EXPECT_LE(stream.errors, 1);
  }
  EXPECT_EQ(met, 60);   // 20 sends, 20 receives, 20 completions of receives
}

}  // namespace
}  // namespace mercutio
