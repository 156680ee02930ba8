// A client that lost its connection comes back: what it had before has ended by then, its locks, its files, and what it asked for.
#include <condition_variable>

#include "fixture.h"

namespace mercutio::remote {
namespace {

// Writes wait here until the gate is opened.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = true;
  int waiting = 0;

  void pass() {
    std::unique_lock guard(mutex);
    ++waiting;
    changed.notify_all();
    changed.wait(guard, [&] { return open; });
    --waiting;
  }
  void set(bool yes) {
    std::lock_guard guard(mutex);
    open = yes;
    changed.notify_all();
  }
  void await_somebody() {
    std::unique_lock guard(mutex);
    changed.wait(guard, [&] { return waiting > 0; });
  }
};

class Gated final : public Storage {
 public:
  Gated(std::unique_ptr<Storage> inner, Gate& gate) : inner_(std::move(inner)), gate_(gate) {}
  Result<i64> read(std::span<const IoPiece> pieces) override { return inner_->read(pieces); }
  Result<i64> write(std::span<const IoPiece> pieces) override {
    gate_.pass();
    return inner_->write(pieces);
  }
  Result<i64> size() override { return inner_->size(); }
  Status set_size(i64 bytes) override { return inner_->set_size(bytes); }
  Status preallocate(i64 bytes) override { return inner_->preallocate(bytes); }
  Status sync() override { return inner_->sync(); }
  Status close() override { return inner_->close(); }
  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override { return inner_->lock(begin, end, exclusive); }
  const Traits& traits() const override { return inner_->traits(); }
  Layout layout() override { return inner_->layout(); }

 private:
  const std::unique_ptr<Storage> inner_;
  Gate& gate_;
};

class RemoteReturn : public RemoteTest {
 protected:
  void SetUp() override {
    options.around = [this](std::unique_ptr<Storage> inner) -> std::unique_ptr<Storage> {
      return std::make_unique<Gated>(std::move(inner), gate);
    };
    options.handshake_ms = 500;
    options.grace_ms = 600'000;   // nothing ends by itself here
    RemoteTest::SetUp();
    relay = std::make_unique<Relay>(server->port());
    fragile = connection;
    fragile.servers = {{"127.0.0.1", relay->port()}};
    fragile.streams = 1;
    fragile.silence_ms = fragile.patience_ms = 400;
    connection.patience_ms = 60'000;
    lost = *Session::make(fragile, 0);
    file = std::move(*open_remote(lost, "data/file", writing()));
  }
  void TearDown() override {
    gate.set(true);
    file.reset();
    lost.reset();
    relay.reset();
    RemoteTest::TearDown();
  }
  // Nothing passes any more; the server doesn't know, the client gives up.
  void lose() {
    relay->hold_all(true);
    ASSERT_FALSE(file->size().ok());
    ASSERT_FALSE(lost->alive());
  }
  std::shared_ptr<Session> come_back() { return *Session::make(connection, 0, lost); }

  Gate gate;
  std::unique_ptr<Relay> relay;
  Connection fragile;
  std::shared_ptr<Session> lost;
  std::unique_ptr<Storage> file;
};

TEST_F(RemoteReturn, WhatIsStillOnItsWayNeverArrives) {
  auto early = filled(50'000, 1), late = filled(50'000, 2), after = filled(50'000, 3);
  ASSERT_TRUE(write(*file, 0, early).ok());
  relay->hold_all(true);
  ASSERT_FALSE(write(*file, 0, late).ok());
  ASSERT_FALSE(lost->alive());
  auto again = std::move(*open_remote(come_back(), "data/file", writing()));
  ASSERT_TRUE(write(*again, 0, after).ok());
  ASSERT_TRUE(again->sync().ok());
  relay->hold_all(false);   // the write goes on to the server now, if that listens
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_TRUE(again->close().ok());
  EXPECT_TRUE(same(content("file"), after));
  EXPECT_TRUE(logged("its session before this one has ended"));
}

TEST_F(RemoteReturn, ItsLocksAreFree) {
  const auto held = file->lock(0, 100, true);
  ASSERT_TRUE(held.ok());
  auto other = std::move(*open_remote(session(), "data/file", writing()));
  std::atomic<bool> got{false};
  std::thread waiter([&] { got = other->lock(50, 60, true).ok(); });
  lose();
  EXPECT_FALSE(got) << "the server can't know that it is lost";
  auto again = std::move(*open_remote(come_back(), "data/file", writing()));
  waiter.join();
  EXPECT_TRUE(got);
  EXPECT_TRUE(again->lock(0, 100, true).ok());
}

// For longer than one hello waits: the client asks again.
TEST_F(RemoteReturn, WhatIsBeingDoneIsWaitedFor) {
  gate.set(false);
  auto first = filled(50'000, 1), second = filled(50'000, 2);
  std::thread writer([&] { EXPECT_FALSE(write(*file, 0, first).ok()); });
  gate.await_somebody();
  relay->hold_all(true);
  writer.join();
  std::atomic<bool> opened{false};
  std::unique_ptr<Storage> again;
  std::thread opener([&] {
    again = std::move(*open_remote(come_back(), "data/file", writing()));
    opened = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(1'200));
  EXPECT_FALSE(opened);
  gate.set(true);
  opener.join();
  EXPECT_TRUE(same(content("file"), first)) << "done when the client is welcome";
  ASSERT_TRUE(write(*again, 0, second).ok());
  EXPECT_TRUE(same(content("file"), second));
}

TEST_F(RemoteReturn, OneThatLivesIsNotReplaced) {
  auto data = filled(1'000, 1);
  auto other = std::move(*open_remote(come_back(), "data/other", writing()));
  EXPECT_TRUE(write(*other, 0, data).ok());
  EXPECT_TRUE(write(*file, 0, data).ok());
  EXPECT_TRUE(file->close().ok());
}

// The one in between was never welcomed.
TEST_F(RemoteReturn, AfterTriesInVainToo) {
  lose();
  relay->refuse(true);
  const auto in_vain = *Session::make(fragile, 0, lost);
  ASSERT_FALSE(open_remote(in_vain, "data/file", writing()).ok());
  relay->hold_all(false);
  auto again = std::move(*open_remote(*Session::make(connection, 0, in_vain), "data/file", writing()));
  EXPECT_TRUE(logged("its session before this one has ended"));
}

}  // namespace
}  // namespace mercutio::remote
