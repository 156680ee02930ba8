// A client that lost its connection comes back: what it had before has ended by then, its locks, its files, and what it asked for.
#include "fixture.h"
#include "gate.h"
#include "rogue.h"

namespace mercutio::remote {
namespace {

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
    file = open_in_time(fragile, lost, "data/file", writing());
    ASSERT_TRUE(file);
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

// Its files are open there, and its lock is held: nobody waits for it.
TEST_F(RemoteReturn, AClientThatEndsKeepsNothing) {
  const auto take_lock = [&](Session& at) -> Status {
    OpenRequest open;
    open.path = "data/file";
    open.write = true;
    Buffer message, wanted;
    put_message(message, open);
    MERCUTIO_LET(const Reply opened, at.call(Kind::kOpen, std::move(message)));
    MERCUTIO_LET(const OpenReply file, get_message<OpenReply>(opened.more));
    put_message(wanted, PlainRequest{file.handle, 0, 100, true, ""});
    MERCUTIO_TRY(at.call(Kind::kLock, std::move(wanted)));
    return ok_status();
  };
  auto first = *Session::make(connection, 0);
  ASSERT_TRUE(take_lock(*first).ok());
  first.reset();
  ASSERT_TRUE(logged("left"));   // else the lock would be waited for
  EXPECT_TRUE(take_lock(**Session::make(connection, 0)).ok());
}

TEST(RemoteReturns, AServerWaitsAsLongAsAClientTries) {
  EXPECT_GE(ServiceOptions().short_grace_ms, Connection().patience_ms);
  EXPECT_GE(ServiceOptions().grace_ms, Connection().patience_ms);
}

// One of two streams of a session: the other one goes on while a request of this one is carried out.
struct TwoStreams {
  TwoStreams(int port, const Key& key) : first(port, key), second(port, key) {
    Hello hello;
    hello.session_low = 77;
    first.hello(hello);
    OpenRequest open;
    open.path = "data/file";
    open.write = true;
    first.ask(Kind::kOpen, 1, open);
    handle = get_message<OpenReply>(first.reply_to(1).more)->handle;
    second.hello(hello);
  }
  TransferRequest whole(const std::vector<std::byte>& data) const {
    TransferRequest request;
    request.handle = handle;
    request.end = static_cast<i64>(data.size());
    return request;
  }
  void await_nothing_below(u64 end) {
    Buffer ids;
    RemoteEncoder writer(ids);
    writer(end);
    EXPECT_TRUE(second.channel->send(frame_of(Kind::kAwaits, 0, ids), 5000).ok());
  }
  Rogue first, second;
  u64 handle = 0;
};

TEST_F(RemoteReturn, WhatWasGivenUpIsNotBegunAnyMore) {
  TwoStreams client(server->port(), options.key);
  const auto data = filled(1'000, 1);
  client.await_nothing_below(3);
  client.second.ask(Kind::kWrite, 3, client.whole(data), data);
  EXPECT_EQ(client.second.reply_to(3).outcome, 0U);
  const auto late = filled(1'000, 2);
  client.first.ask(Kind::kWrite, 2, client.whole(late), late);   // it was on its way
  PlainRequest size;
  size.target = client.handle;
  client.first.ask(Kind::kSize, 4, size);
  EXPECT_EQ(client.first.reply_to(4).value, 1'000);
  EXPECT_TRUE(same(content("file"), data));
}

TEST_F(RemoteReturn, WhatWasGivenUpEndsBeforeAnythingElseIsChanged) {
  TwoStreams client(server->port(), options.key);
  const auto late = filled(1'000, 1), after = filled(1'000, 2);
  gate.set(false);
  client.first.ask(Kind::kWrite, 2, client.whole(late), late);
  gate.await_somebody();
  gate.hold_the_next(false);
  client.await_nothing_below(3);
  client.second.ask(Kind::kWrite, 3, client.whole(after), after);
  EXPECT_EQ(client.second.reply_to(3).sys_errno, EBUSY) << "it must not come before what is still being written";
  client.second.ask(Kind::kWrite, 4, client.whole(after), after);
  gate.set(true);
  EXPECT_EQ(client.second.reply_to(4).outcome, 0U);
  EXPECT_TRUE(same(content("file"), after));
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
