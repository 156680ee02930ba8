// Routers: who may use them, where to, and what happens when one dies.
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <future>

#include "fixture.h"
#include "remote/route.h"

namespace mercutio::remote {
namespace {

class RemoteRoute : public RemoteTest {
 protected:
  void SetUp() override {
    RemoteTest::SetUp();
    router_options.key = *make_key();
    router_options.targets = {"127.0.0.1:" + std::to_string(server->port())};
    router_options.log = [this](const std::string& line) {
      std::lock_guard guard(mutex);
      router_log += line + "\n";
    };
    start_router();
    connection.hops = {{{"127.0.0.1", router->port()}, router_options.key}};
    connection.patience_ms = 20'000;
  }
  void TearDown() override {
    router.reset();
    RemoteTest::TearDown();
  }
  void start_router() {
    auto started = Router::start(router_options);
    for (int tries = 0; tries < 100 && !started && started.error().sys_errno == EADDRINUSE; ++tries) {   // who has had it may not have left it yet
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      started = Router::start(router_options);
    }
    ASSERT_TRUE(started.ok()) << started.error().what;
    router = std::move(*started);
  }
  std::string said() {
    std::lock_guard guard(mutex);
    return router_log;
  }
  bool said_in_the_end(const std::string& text) {
    return comes_up([this] { return said(); }, text);
  }
  // What a write through the router becomes.
  Result<i64> write_through(const std::string& name, i64 bytes) {
    auto file = open_remote(session(), "data/" + name, writing());
    if (!file) return file.error();
    auto out = filled(bytes, 3);
    MERCUTIO_TRY(write(**file, 0, out));
    MERCUTIO_TRY((*file)->close());
    EXPECT_TRUE(same(content(name), out));
    return bytes;
  }

  RouterOptions router_options;
  std::unique_ptr<Router> router;
  std::mutex mutex;
  std::string router_log;
};

TEST_F(RemoteRoute, CarriesEveryStream) {
  EXPECT_EQ(write_through("routed", 20 * MiB + 11).value(), 20 * MiB + 11);
  EXPECT_TRUE(said_in_the_end("connected to 127.0.0.1 " + std::to_string(server->port()))) << said();
}

TEST(RemoteRouteTargets, MayHaveTheirAddressInBrackets) {
  EXPECT_TRUE(is_one_of({"192.0.2.7:4000"}, "192.0.2.7", "4000"));
  EXPECT_FALSE(is_one_of({"192.0.2.7:4000"}, "192.0.2.7", "4001"));
  EXPECT_TRUE(is_one_of({"[2001:db8::7]:4000"}, "2001:db8::7", "4000"));
  EXPECT_TRUE(is_one_of({"2001:db8::7:4000"}, "2001:db8::7", "4000"));
  EXPECT_TRUE(is_one_of({"[2001:db8::7]:*"}, "2001:db8::7", "1"));
  EXPECT_FALSE(is_one_of({"[2001:db8::7]:4000"}, "2001:db8::8", "4000"));
}

TEST_F(RemoteRoute, LeadsThroughAnotherRouter) {
  RouterOptions second = router_options;
  second.key = *make_key();
  second.targets = {"127.0.0.1:*"};
  auto outer = Router::start(second);
  ASSERT_TRUE(outer.ok());
  connection.hops.insert(connection.hops.begin(), Hop{{"127.0.0.1", (*outer)->port()}, second.key});
  EXPECT_TRUE(write_through("twice", 3 * MiB).ok());
}

TEST_F(RemoteRoute, RefusesOtherKeysAndOtherTargets) {
  const int port = server->port();
  connection.servers = {{"127.0.0.1", port == 65535 ? 1 : port + 1}};
  const auto elsewhere = write_through("x", 10);
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_EQ(elsewhere.error().cls, ErrorClass::kAccess) << elsewhere.error().what;
  EXPECT_NE(elsewhere.error().what.find("--to"), std::string::npos) << elsewhere.error().what;
  connection.servers = {{"127.0.0.1", port}};
  connection.hops[0].key = *make_key();
  const auto stranger = write_through("x", 10);
  ASSERT_FALSE(stranger.ok());
  EXPECT_EQ(stranger.error().cls, ErrorClass::kAccess) << stranger.error().what;
  EXPECT_NE(stranger.error().what.find("--router"), std::string::npos) << stranger.error().what;
  EXPECT_TRUE(said_in_the_end("refused: not the router's key")) << said();
  EXPECT_FALSE(std::filesystem::exists(folder + "/x"));
}

// Also while they come about.
TEST_F(RemoteRoute, HasAsManyConnectionsAsItMay) {
  Endpoint silent{"127.0.0.1", 0};
  const auto kept = keep_silent_port(silent.port);
  router.reset();
  router_options.targets = {"127.0.0.1:*"};
  router_options.most_connections = 1;
  router_options.handshake_ms = 4'000;
  start_router();
  const auto asks = [&] {
    const Descriptor fd(connect_to(router->port()));
    const auto done = RouteRequest({{"127.0.0.1", router->port()}, router_options.key}, silent).advance(fd.get());
    return done ? 0 : done.error().sys_errno;
  };
  auto other = std::async(std::launch::async, asks);
  const int one = asks(), two = other.get();
  EXPECT_NE(one == EUSERS, two == EUSERS) << one << " " << two;
  connection.hops[0].at.port = router->port();
  connection.streams = 1;
  EXPECT_TRUE(write_through("then", 10).ok()) << "neither counts any more";
}

TEST_F(RemoteRoute, SaysThatTheServerIsNotThere) {
  server.reset();
  const auto gone = write_through("x", 10);
  ASSERT_FALSE(gone.ok());
  EXPECT_NE(gone.error().what.find("can't reach"), std::string::npos) << gone.error().what;
}

TEST_F(RemoteRoute, TellsAServerThatEndedFromALinkThatIsDown) {
  connection.patience_ms = 18'000;
  const auto at = *Session::make(connection, 0);
  auto file = std::move(*open_remote(at, "data/ended", writing()));
  const i64 start = now_ns();
  server.reset();
  const auto size = file->size();
  ASSERT_FALSE(size.ok());
  EXPECT_NE(size.error().what.find("can't reach"), std::string::npos) << size.error().what;
  EXPECT_LT(now_ns() - start, 18'000'000'000);
}

TEST_F(RemoteRoute, KnockersAreSentAway) {
  router_options.handshake_ms = 200;
  router.reset();
  start_router();
  std::vector<int> knockers;
  for (int i = 0; i < 12; ++i) {
    knockers.push_back(connect_to(router->port()));
    const std::string text(i % 3 * 1000, static_cast<char>(i));
    (void)!::send(knockers.back(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  for (const int fd : knockers) {
    char buffer[256];
    ssize_t got = 0;
    while ((got = ::recv(fd, buffer, sizeof buffer, 0)) > 0) {
    }
    ::close(fd);
  }
  EXPECT_TRUE(said_in_the_end("refused: it does not ask for a route")) << said();
}

TEST_F(RemoteRoute, ARouterThatIsStartedAnewLosesNothing) {
  const auto at = session();
  auto file = std::move(*open_remote(at, "data/again", writing()));
  auto out = filled(24 * MiB, 7);
  std::atomic<bool> over{false};
  router_options.port = router->port();
  std::thread breaker([&] {
    for (int i = 0; i < 4 && !over; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20 + 15 * i));
      router.reset();
      start_router();
    }
  });
  for (i64 at_byte = 0; at_byte < 24 * MiB; at_byte += MiB) {
    const IoPiece piece{at_byte, out.data() + at_byte, MiB};
    const auto written = file->write(std::span(&piece, 1));
    EXPECT_TRUE(written.ok()) << written.error().what;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  over = true;
  breaker.join();
  EXPECT_TRUE(file->close().ok());
  EXPECT_TRUE(same(content("again"), out));
}

TEST_F(RemoteRoute, ARouterThatIsGoneIsSaidToBeGone) {
  connection.patience_ms = 500;
  std::shared_ptr<Session> at;
  auto file = open_in_time(connection, at, "data/gone", writing());
  ASSERT_TRUE(file);
  router.reset();
  auto data = filled(1000, 1);
  const auto written = write(*file, 0, data);
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().what.find("is lost"), std::string::npos) << written.error().what;
}

}  // namespace
}  // namespace mercutio::remote
