// Broken links, wrong keys, and others who knock: nothing hangs, nothing is done twice, nothing is told done that isn't.
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "fixture.h"
#include "rogue.h"

namespace mercutio::remote {
namespace {

void wait_ms(i64 ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

class RemoteFaults : public RemoteTest {
 protected:
  void SetUp() override {
    RemoteTest::SetUp();
    relay = std::make_unique<Relay>(server->port());
    connection.servers = {{"127.0.0.1", relay->port()}};
    connection.silence_ms = 5'000;
    connection.patience_ms = 20'000;
  }
  void TearDown() override {
    relay.reset();
    RemoteTest::TearDown();
  }
  std::unique_ptr<Relay> relay;
};

// A damaged handshake looks like another key's, whatever went wrong before it.
TEST_F(RemoteFaults, AHandshakeIsDamagedAfterOthersThatFailed) {
  connection.streams = 1;
  const auto at = session();
  auto file = std::move(*open_remote(at, "data/doubted", keeping()));
  relay->refuse(true);
  relay->cut();
  auto out = filled(1 * MiB, 3);
  const IoPiece all{0, out.data(), 1 * MiB};
  ASSERT_EQ(file->write(std::span(&all, 1)).value(), 1 * MiB);
  while (relay->refused() < 3) wait_ms(5);
  relay->damage();
  relay->refuse(false);
  const Status synced = file->sync();
  ASSERT_TRUE(synced.ok()) << synced.error().what;
  EXPECT_TRUE(same(content("doubted"), out));
  EXPECT_TRUE(file->close().ok());
}

TEST_F(RemoteFaults, AllArrivesThroughALinkThatBreaks) {
  const auto at = session();
  auto file = std::move(*open_remote(at, "data/broken", writing()));
  auto out = filled(48 * MiB, 7);
  std::atomic<bool> over{false};
  std::thread breaker([&] {
    for (int i = 0; i < 8 && !over; ++i) {
      wait_ms(15 + 10 * i);
      relay->cut();
    }
  });
  for (i64 done = 0; done < 48; done += 4) {
    std::vector<IoPiece> pieces;
    for (i64 i = 0; i < 64; ++i) pieces.push_back({done * MiB + i * 64 * KiB, out.data() + done * MiB + i * 64 * KiB, 64 * KiB});
    const auto written = file->write(pieces);
    ASSERT_TRUE(written.ok()) << written.error().what;
    wait_ms(10);
  }
  over = true;
  breaker.join();
  std::vector<std::byte> in(out.size());
  relay->cut();
  const IoPiece all{0, in.data(), static_cast<i64>(in.size())};
  EXPECT_EQ(file->read(std::span(&all, 1)).value(), 48 * MiB);
  EXPECT_EQ(in, out);
  EXPECT_TRUE(file->close().ok());
  EXPECT_GT(at->counts().reconnects, 0);
}

// The request arrives, its answer doesn't: asked again, the server must not find the file that it has made itself.
TEST_F(RemoteFaults, WhatWasDoneIsNotDoneAgain) {
  const auto at = session();
  auto first = std::move(*open_remote(at, "data/first", writing()));
  relay->hold_answers(true);
  std::thread breaker([&] {
    for (int i = 0; i < 4000 && !std::filesystem::exists(folder + "/once"); ++i) wait_ms(2);
    relay->cut();
    relay->hold_answers(false);
  });
  OpenOptions once = writing();
  once.exclusive = true;
  const auto opened = open_remote(at, "data/once", once);
  breaker.join();
  EXPECT_TRUE(opened.ok()) << opened.error().what << log();
}

TEST_F(RemoteFaults, ASilentLinkIsMadeAnew) {
  connection.silence_ms = 400;
  const auto at = session();
  auto file = std::move(*open_remote(at, "data/silent", writing()));
  auto data = filled(1 * MiB, 4);
  relay->hold_all(true);
  std::thread healer([&] {
    wait_ms(900);
    relay->cut();
    relay->hold_all(false);
  });
  EXPECT_TRUE(write(*file, 0, data).ok());
  healer.join();
  EXPECT_TRUE(same(content("silent"), data));
}

TEST_F(RemoteFaults, AServerThatIsGoneIsSaidToBeGone) {
  connection.patience_ms = 600;
  std::shared_ptr<Session> at;
  auto file = open_in_time(connection, at, "data/gone", writing());
  ASSERT_TRUE(file);
  auto data = filled(1 * MiB, 4);
  ASSERT_TRUE(write(*file, 0, data).ok());
  server.reset();
  const i64 start = now_ns();
  const auto written = write(*file, 0, data);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().cls, ErrorClass::kIo);
  EXPECT_NE(written.error().what.find("far"), std::string::npos) << written.error().what;
  EXPECT_NE(written.error().what.find("mercutio connect"), std::string::npos) << written.error().what;
  EXPECT_EQ(written.error().sys_errno, EIO);
  EXPECT_LT(now_ns() - start, 15'000'000'000);
  EXPECT_FALSE(file->sync().ok());
  EXPECT_FALSE(file->close().ok());
}

// Nobody listens at its port: that isn't waited for as long as a link is.
TEST_F(RemoteFaults, AServerThatEndedIsNotWaitedFor) {
  connection.servers = {{"127.0.0.1", server->port()}};
  connection.patience_ms = 18'000;
  const auto at = session();
  auto file = std::move(*open_remote(at, "data/ended", writing()));
  auto data = filled(1 * MiB, 4);
  ASSERT_TRUE(write(*file, 0, data).ok());
  const i64 start = now_ns();
  server.reset();
  const auto written = write(*file, 0, data);
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().what.find("connect: Connection refused"), std::string::npos) << written.error().what;
  EXPECT_EQ(written.error().sys_errno, EIO);
  EXPECT_TRUE(at->server_ended());
  EXPECT_LT(now_ns() - start, 18'000'000'000);
}

TEST_F(RemoteFaults, AServerThatWasStartedAnewDoesNotPretend) {
  const auto at = session();
  auto file = std::move(*open_remote(at, "data/anew", writing()));
  const int port = server->port();
  server.reset();
  options.port = port;
  start_server();
  auto data = filled(100, 4);
  const auto written = write(*file, 0, data);
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().what.find("open the file again"), std::string::npos) << written.error().what;
  EXPECT_EQ(written.error().sys_errno, ESTALE);
}

// Whether it was done is not known. A number after which programs try again would have it done twice.
TEST_F(RemoteFaults, ARenameOverALostConnectionFailsOnceAndForAll) {
  connection.patience_ms = 600;
  connection.silence_ms = 300;
  std::shared_ptr<Session> at;
  auto file = open_in_time(connection, at, "data/before", writing());
  ASSERT_TRUE(file);
  relay->hold_all(true);
  NameRequest request;
  request.path = "data/before";
  request.other = "data/after";
  Buffer message;
  put_message(message, request);
  std::thread cutter([&] {
    for (int i = 0; i < 8; ++i, wait_ms(200)) relay->cut();
  });
  const auto renamed = at->call(Kind::kRename, std::move(message));
  cutter.join();
  relay->hold_all(false);
  ASSERT_FALSE(renamed.ok());
  EXPECT_EQ(renamed.error().sys_errno, EIO) << renamed.error().what;
  EXPECT_NE(renamed.error().what.find("is lost"), std::string::npos) << renamed.error().what;
  EXPECT_FALSE(at->alive());
  EXPECT_FALSE(at->server_ended());
}

TEST_F(RemoteFaults, ASlowRequestHasAnEnd) {
  connection.timeout_ms = 700;
  connection.silence_ms = 60'000;
  std::shared_ptr<Session> at;
  auto file = open_in_time(connection, at, "data/slow", writing());
  ASSERT_TRUE(file);
  relay->hold_all(true);
  auto data = filled(5 * MiB, 4);
  const auto written = write(*file, 0, data);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().sys_errno, ETIMEDOUT);
  relay->cut();
  relay->hold_all(false);
}

TEST_F(RemoteFaults, NobodyThere) {
  int port = 0;
  const int kept = keep_port(port);
  connection.servers = {{"127.0.0.1", port}};
  const auto opened = open_remote(session(), "data/x", {});
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().what.find("can't be made"), std::string::npos) << opened.error().what;
  ::close(kept);
}

TEST_F(RemoteFaults, AnotherKeyIsRefused) {
  connection.key = *make_key();
  const i64 start = now_ns();
  const auto opened = open_remote(session(), "data/x", writing());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().cls, ErrorClass::kAccess) << opened.error().what;
  EXPECT_LT(now_ns() - start, 10'000'000'000);
  EXPECT_FALSE(std::filesystem::exists(folder + "/x"));
  EXPECT_TRUE(logged("refused")) << log();
}

// Everything that a client sent, recorded and sent again.
TEST_F(RemoteFaults, AReplayIsNoClient) {
  {
    auto file = std::move(*open_remote(session(), "data/replayed", writing()));
    auto data = filled(1000, 1);
    ASSERT_TRUE(write(*file, 0, data).ok());
    ASSERT_TRUE(file->close().ok());
  }
  std::filesystem::remove(folder + "/replayed");
  const std::string recorded = relay->first_client_bytes();
  ASSERT_GT(recorded.size(), 1000U);
  const int fd = connect_to(server->port());
  ASSERT_EQ(::send(fd, recorded.data(), recorded.size(), MSG_NOSIGNAL), static_cast<ssize_t>(recorded.size()));
  EXPECT_TRUE(logged("refused")) << log();
  ::close(fd);
  EXPECT_FALSE(std::filesystem::exists(folder + "/replayed"));
}

TEST_F(RemoteFaults, KnockersDontDisturb) {
  std::vector<int> knockers;
  for (int i = 0; i < 20; ++i) {
    knockers.push_back(connect_to(server->port()));
    const std::string text = i % 2 ? "GET / HTTP/1.0\r\n\r\n" : std::string(20000, static_cast<char>(i * 13));
    (void)!::send(knockers.back(), text.data(), i < 10 ? text.size() : 0, MSG_NOSIGNAL);
  }
  auto file = std::move(*open_remote(session(), "data/quiet", writing()));
  auto data = filled(2 * MiB, 1);
  EXPECT_TRUE(write(*file, 0, data).ok());
  for (const int fd : knockers) ::close(fd);
}

TEST_F(RemoteFaults, FramesThatBreakTheRulesEndTheStream) {
  const auto sent = [&](const Buffer& frame, bool greeted) {
    Rogue rogue(server->port(), options.key);
    if (greeted) rogue.hello();
    (void)rogue.channel->send(frame, 5000);
    return rogue.is_cut();
  };
  Buffer body;
  put_message(body, PlainRequest{});
  EXPECT_TRUE(sent(frame_of(Kind::kPing, 0, {}), false)) << "no hello";
  EXPECT_TRUE(sent(frame_of(Kind::kReply, 1, {}), true)) << "a server's frame";
  EXPECT_TRUE(sent(frame_of(Kind::kSize, 1, {}), true)) << "a request that is too short";
  Buffer damaged = frame_of(Kind::kSize, 1, body);
  damaged.back() ^= std::byte{1};
  EXPECT_TRUE(sent(damaged, true)) << "a wrong checksum";
  Buffer huge(kHeaderBytes);
  FrameHeader header;
  header.kind = Kind::kWrite;
  header.data_bytes = 0xFFFFFFFF;
  write_header(header, huge.data());
  EXPECT_TRUE(sent(huge, true)) << "4 GiB of data";
  header.data_bytes = 2 * MiB;
  write_header(header, huge.data());
  EXPECT_TRUE(sent(huge, true)) << "more than was granted";
  for (const u64 agreed : {u64{0}, kLz4}) {   // a block of 4 bytes that says it holds 256 MiB
    Rogue lying(server->port(), options.key);
    Hello hello;
    hello.capabilities = agreed;
    lying.hello(hello);
    Buffer block(kHeaderBytes + 8, std::byte{0x10});
    header.encoding = Encoding::kLz4;
    header.data_bytes = 8;
    write_header(header, block.data());
    (void)lying.channel->send(block, 5000);
    EXPECT_TRUE(lying.is_cut()) << agreed;
  }
  Hello other;
  other.lowest = other.highest = 9;
  Rogue future(server->port(), options.key);
  future.hello(other);
  EXPECT_TRUE(future.is_cut()) << "another version";
  EXPECT_TRUE(open_remote(session(), "data/after", writing()).ok());
}

TEST_F(RemoteFaults, LocksOfAClientThatDiedAreGivenBack) {
  server.reset();
  options.grace_ms = 500;
  options.port = 0;
  start_server();
  Relay fragile(server->port());
  Connection there = connection;
  there.servers = {{"127.0.0.1", fragile.port()}};
  const auto dying = *Session::make(there, 0);
  auto held_file = std::move(*open_remote(dying, "data/locked", writing()));
  auto held = held_file->lock(0, 100, true);
  ASSERT_TRUE(held.ok()) << held.error().what;
  auto other = std::move(*open_remote(session(), "data/locked", writing()));
  std::atomic<bool> got{false};
  std::thread waiter([&] { got = other->lock(50, 60, true).ok(); });
  wait_ms(100);
  EXPECT_FALSE(got);
  fragile.refuse(true);
  fragile.cut();
  waiter.join();
  EXPECT_TRUE(got);
  fragile.refuse(false);
  EXPECT_FALSE(held_file->size().ok()) << "given up, and told so";
}

}  // namespace
}  // namespace mercutio::remote
