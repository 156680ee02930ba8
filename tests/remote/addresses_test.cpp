// Names with several addresses, of which not all lead to somebody.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "base/trace.h"
#include "fixture.h"
#include "remote/descriptor.h"
#include "remote/link.h"
#include "remote/sockets.h"

static std::atomic<int> lookups{0};   // of dual.example

// dual.example has two addresses, as a name in a cluster with IPv6 and IPv4: here 127.0.0.2 and 127.0.0.1.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** found) {
  static const auto real = reinterpret_cast<decltype(&::getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  if (!name || std::string(name) != "dual.example") return real(name, service, hints, found);
  ++lookups;
  addrinfo* second = nullptr;
  int wrong = real("127.0.0.2", service, hints, found);
  if (wrong == 0) wrong = real("127.0.0.1", service, hints, &second);
  if (wrong == 0) (*found)->ai_next = second;
  return wrong;
}

namespace mercutio::remote {
namespace {

class Addressed : public ::testing::Test {
 protected:
  // Of a port that is listened to at one of the addresses, or at none.
  Endpoint dual(const char* listening) {
    Descriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    EXPECT_EQ(::inet_pton(AF_INET, listening ? listening : "127.0.0.1", &at.sin_addr), 1);
    socklen_t bytes = sizeof at;
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&at), &bytes), 0);
    if (listening) {
      EXPECT_EQ(::listen(fd.get(), 16), 0);
      listeners_.push_back(std::make_unique<Descriptor>(fd.release()));
    }
    return {"dual.example", ntohs(at.sin_port)};
  }
  // A link that has come to the router at that name, or the error.
  static Status reach(Link& link, const Endpoint& at, bool by_router) {
    Link::Way way{at, {}, connected_socket};
    if (by_router) way.hops.push_back({at, {}});
    MERCUTIO_TRY(link.begin(way, nullptr, {}));
    for (const i64 end = now_ns() + 5'000'000'000; link.state() == Link::State::kConnecting && now_ns() < end;) {
      pollfd ready{link.fd(), link.events(), 0};
      (void)::poll(&ready, 1, 100);
      MERCUTIO_TRY(link.advance({}));
    }
    return ok_status();
  }
  std::vector<std::unique_ptr<Descriptor>> listeners_;
};

TEST_F(Addressed, AllAddressesAreTried) {
  for (const char* listening : {"127.0.0.1", "127.0.0.2"}) {
    const Endpoint at = dual(listening);
    const auto fd = connect_until(at, now_ns() + 5'000'000'000);
    ASSERT_TRUE(fd.ok()) << fd.error().what;
    const Descriptor owned(*fd);
    Link link;
    for (int i = 0; i < 2; ++i) {
      const Status reached = reach(link, at, true);
      EXPECT_TRUE(reached.ok() && link.state() == Link::State::kRouting) << listening;
      link.drop();
    }
  }
}

TEST_F(Addressed, ARefusalIsOneOfAllAddresses) {
  const Endpoint at = dual(nullptr);
  const auto fd = connect_until(at, now_ns() + 5'000'000'000);
  ASSERT_FALSE(fd.ok());
  EXPECT_EQ(fd.error().sys_errno, ECONNREFUSED);
  Link link;
  for (int i = 0; i < 2; ++i) {
    const int before = lookups;
    const Status reached = reach(link, at, false);
    EXPECT_EQ(lookups, before + 1) << "it may have other addresses by now";
    ASSERT_FALSE(reached.ok());
    EXPECT_EQ(reached.error().sys_errno, ECONNREFUSED);
    EXPECT_TRUE(link.server_refused);
  }
}

// A name server that doesn't answer may hold up a stream for longer than its session has patience.
TEST_F(RemoteTest, ANameIsLookedUpOnce) {
  Relay relay(server->port());
  connection.servers = {{"dual.example", relay.port()}};
  connection.streams = 1;
  const auto at = session();
  const auto file = open_remote(at, "data/x", writing());
  ASSERT_TRUE(file.ok()) << file.error().what;
  const int before = lookups;
  for (int i = 0; i < 3; ++i) {
    relay.cut();
    EXPECT_TRUE((*file)->size().ok());
  }
  EXPECT_GE(at->counts().reconnects, 1);
  EXPECT_EQ(lookups, before);
}

TEST(RemoteSockets, ASignalIsNoTimeOut) {
  Endpoint at{"127.0.0.1", 0};
  const auto kept = keep_silent_port(at.port);
  struct sigaction interrupts {}, former {};
  interrupts.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &interrupts, &former), 0);
  const i64 begin = now_ns();
  std::thread connecting([&] {
    const auto fd = connect_until(at, begin + 600'000'000);
    ASSERT_FALSE(fd.ok());
    EXPECT_EQ(fd.error().sys_errno, ETIMEDOUT);
    EXPECT_GE(now_ns() - begin, 590'000'000);
  });
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::pthread_kill(connecting.native_handle(), SIGUSR1);
  }
  connecting.join();
  ::sigaction(SIGUSR1, &former, nullptr);
}

TEST_F(Addressed, AnErrorThatTellsMoreIsReported) {
  const Error refused = error_from_errno("connect", ECONNREFUSED), silent = error_from_errno("connect", ETIMEDOUT), no_way = error_from_errno("connect", ENETUNREACH);
  EXPECT_EQ(error_of_attempts(std::nullopt, no_way).sys_errno, ENETUNREACH);
  EXPECT_EQ(error_of_attempts(no_way, refused).sys_errno, ECONNREFUSED);
  EXPECT_EQ(error_of_attempts(refused, no_way).sys_errno, ECONNREFUSED);
  EXPECT_EQ(error_of_attempts(refused, silent).sys_errno, ETIMEDOUT);
  EXPECT_EQ(error_of_attempts(silent, refused).sys_errno, ETIMEDOUT);
}

}  // namespace
}  // namespace mercutio::remote
