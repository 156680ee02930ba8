// What a server does at its limits: locks that many wait for, connections beyond those it may have, peers that never show a key.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fixture.h"
#include "foreign_lock.h"
#include "remote/printable.h"
#include "rogue.h"

namespace mercutio::remote {
namespace {

using RemoteLimits = RemoteTest;

i64 entries_of(const char* folder) {
  const std::filesystem::directory_iterator entries(folder);
  return std::distance(begin(entries), end(entries));
}

i64 threads_of_this_process() {
  return entries_of("/proc/self/task");
}

PlainRequest lock_of(u64 handle) {
  PlainRequest wanted;
  wanted.target = handle;
  wanted.end = 100;
  wanted.exclusive = true;
  return wanted;
}

// A client that asks for many locks of a file at once.
class LockClient : public Rogue {
 public:
  LockClient(int port, const Key& key, const std::string& path) : Rogue(port, key) {
    Hello said;
    said.session_high = ::getpid();
    said.session_low = static_cast<u64>(now_ns());
    hello(said);
    OpenRequest wanted;
    wanted.path = path;
    wanted.write = wanted.create = true;
    ask(Kind::kOpen, 1, wanted);
    handle = get_message<OpenReply>(reply_to(1).more)->handle;
  }
  void ask_for_locks(u64 first, u64 count) {
    for (u64 id = first; id < first + count; ++id) ask(Kind::kLock, id, lock_of(handle));
  }
  u64 handle = 0;
};

TEST_F(RemoteLimits, AnyNumberOfLocksIsWaitedForWithoutAThreadEach) {
  constexpr u64 kLocks = 200;
  ForeignLock foreign(folder + "/busy");
  LockClient client(server->port(), options.key, "data/busy");
  const i64 before = threads_of_this_process();
  client.ask_for_locks(2, kLocks);
  auto other = std::move(*open_remote(session(), "data/free", writing()));
  EXPECT_TRUE(other->lock(0, 10, true).ok()) << "another file";
  EXPECT_LT(threads_of_this_process(), before + 10);
  foreign.release();
  for (u64 id = 2; id < 2 + kLocks; ++id) {
    const Reply reply = client.reply_to(id);
    ASSERT_EQ(reply.outcome, 0U) << reply.text;
    PlainRequest held;
    held.target = static_cast<u64>(reply.value);
    client.ask(Kind::kUnlock, 1000 + id, held);
  }
}

TEST_F(RemoteLimits, EveryClientThatWaitsForALockGetsIt) {
  constexpr int kClients = 40, kTimes = 5;
  std::atomic<i64> counter{0}, got{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&] {
      auto file = std::move(*open_remote(session(), "data/counter", writing()));
      for (int n = 0; n < kTimes; ++n) {
        const auto lock = file->lock(0, 8, true);
        if (!lock) continue;
        ++got;
        const i64 seen = counter.load(std::memory_order_relaxed);
        std::this_thread::yield();
        counter.store(seen + 1, std::memory_order_relaxed);
      }
      EXPECT_TRUE(file->close().ok());   // the last unlock has arrived
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(got, kClients * kTimes);
  EXPECT_EQ(counter, got);
}

TEST_F(RemoteLimits, AServerEndsThoughItsClientsWaitForLocks) {
  ForeignLock foreign(folder + "/busy");
  LockClient client(server->port(), options.key, "data/busy");
  client.ask_for_locks(2, 3);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const i64 start = now_ns();
  server.reset();
  EXPECT_LT(now_ns() - start, 15'000'000'000);
}

TEST_F(RemoteLimits, ARequestThatIsRepeatedOnOneStreamIsAnsweredOnce) {
  ForeignLock foreign(folder + "/busy");
  LockClient client(server->port(), options.key, "data/busy");
  for (int i = 0; i < 500; ++i) client.ask(Kind::kLock, 2, lock_of(client.handle));
  client.ask(Kind::kSize, 3, lock_of(client.handle));
  EXPECT_EQ(client.reply_to(3).outcome, 0U);   // so all of them have been looked at
  foreign.release();
  EXPECT_EQ(client.reply_to(2).outcome, 0U);
  Frame frame;
  const auto more = client.channel->receive(frame, kMaxDataBytes, 300);
  EXPECT_TRUE(!more && more.error().sys_errno == ETIMEDOUT);
}

TEST_F(RemoteLimits, WhoMayOnlyReadGetsNoExclusiveLock) {
  std::ofstream(folder + "/x") << "x";
  LockClient client(server->port(), options.key, "data/other");
  OpenRequest wanted;
  wanted.path = "seen/x";
  client.ask(Kind::kOpen, 2, wanted);
  const u64 handle = get_message<OpenReply>(client.reply_to(2).more)->handle;
  client.ask(Kind::kLock, 3, lock_of(handle));
  EXPECT_EQ(client.reply_to(3).outcome, 1U);
  OpenOptions reading;
  auto file = std::move(*open_remote(session(), "seen/x", reading));
  EXPECT_TRUE(file->lock(0, 10, true).ok()) << "shared, as on a local file";
}

// More processes with more streams than the server may have connections: each gets one.
TEST_F(RemoteLimits, AFullServerTakesSpareStreamsForNewClients) {
  server.reset();
  options.most_connections = 4;
  start_server();
  connection.streams = 4;
  std::vector<std::shared_ptr<Session>> sessions;
  for (int i = 0; i < 4; ++i) {
    sessions.push_back(session());
    auto file = open_remote(sessions.back(), "data/" + std::to_string(i), writing());
    ASSERT_TRUE(file.ok()) << file.error().what;
    auto data = filled(2 * MiB, i);
    EXPECT_TRUE(write(**file, 0, data).ok());
    EXPECT_TRUE((*file)->close().ok());
    EXPECT_TRUE(same(content(std::to_string(i)), data));
    sessions.back()->file_opened();   // it stays in use
  }
  for (auto& one : sessions) one->file_closed();
}

TEST_F(RemoteLimits, AClientWaitsItsTurnAtAFullServer) {
  server.reset();
  options.most_connections = 1;
  start_server();
  connection.streams = 1;
  auto first = session();
  auto held = std::move(*open_remote(first, "data/first", writing()));
  std::thread leaves([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_TRUE(held->close().ok());
    held.reset();
    first.reset();
  });
  const auto second = open_remote(session(), "data/second", writing());
  EXPECT_TRUE(second.ok()) << second.error().what;
  leaves.join();
}

TEST_F(RemoteLimits, AFullServerSaysSo) {
  server.reset();
  options.most_connections = 1;
  start_server();
  connection.streams = 1;
  auto held = std::move(*open_remote(session(), "data/first", writing()));
  connection.timeout_ms = 500;
  const auto second = open_remote(session(), "data/second", writing());
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().what.find("is full"), std::string::npos) << second.error().what;
  EXPECT_NE(second.error().what.find("--connections"), std::string::npos) << second.error().what;
}

TEST_F(RemoteLimits, AfterItsTimeAKeyLetsNobodyNewIn) {
  connection.streams = 2;
  std::shared_ptr<Session> early;
  std::unique_ptr<Storage> held;
  for (i64 valid_ms = 1'500; !held && valid_ms < 60'000; valid_ms *= 2) {   // a busy machine may take longer to open it
    server.reset();
    options.expires_ns = now_ns() + valid_ms * 1'000'000;
    start_server();
    early = session();
    if (auto opened = open_remote(early, "data/early", writing())) held = std::move(*opened);
  }
  ASSERT_TRUE(held);
  std::this_thread::sleep_for(std::chrono::nanoseconds(std::max<i64>(0, options.expires_ns - now_ns())));
  const auto late = open_remote(session(), "data/late", writing());
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().cls, ErrorClass::kAccess);
  EXPECT_NE(late.error().what.find("has expired"), std::string::npos) << late.error().what;
  server->cut_streams();
  auto data = filled(2 * MiB, 4);
  EXPECT_TRUE(write(*held, 0, data).ok()) << "who was there goes on, also after a cut and with another stream";
  EXPECT_TRUE(open_remote(early, "data/another", writing()).ok());
  EXPECT_TRUE(held->close().ok());
  EXPECT_TRUE(same(content("early"), data));
}

// Without a key: hundreds that say nothing, or begin and don't go on, from the address that the client has, too.
TEST_F(RemoteLimits, SilentConnectionsKeepNobodyOut) {
  server.reset();
  options.reception.first_byte_ms = options.handshake_ms = 60'000;
  start_server();
  for (const std::string said : {"", "\x16\x03\x01"}) {
    std::vector<int> silent;
    for (int i = 0; i < 600; ++i) {
      silent.push_back(connect_to(server->port()));
      if (!said.empty()) (void)!::send(silent.back(), said.data(), said.size(), MSG_NOSIGNAL);
    }
    const i64 start = now_ns();
    const auto file = open_remote(session(), "data/beside", writing());
    EXPECT_TRUE(file.ok()) << file.error().what;
    EXPECT_LT(now_ns() - start, 30'000'000'000);
    EXPECT_LT(threads_of_this_process(), 100);
    for (const int fd : silent) ::close(fd);
  }
  const std::string text = log();
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 100) << "the log is limited";
}

// One after the other, as quickly as the server refuses them.
TEST_F(RemoteLimits, FailedHandshakesLeaveNoConnectionsOpen) {
  const std::string said("\x16\x03\x01\x00\x04\x01\x00\x00\x00", 9);   // an empty hello, which gets an alert
  const i64 before = entries_of("/proc/self/fd"), end = now_ns() + 2'000'000'000;
  i64 most = 0;
  while (now_ns() < end) {
    const int fd = connect_to(server->port());
    EXPECT_EQ(::send(fd, said.data(), said.size(), MSG_NOSIGNAL), static_cast<ssize_t>(said.size()));
    pollfd ready{fd, POLLIN, 0};
    EXPECT_EQ(::poll(&ready, 1, 5'000), 1);
    ::close(fd);
    most = std::max(most, entries_of("/proc/self/fd"));
  }
  EXPECT_LT(most, before + 2 * options.reception.most_handshakes_of_address);
  for (int i = 0; i < 2'000 && entries_of("/proc/self/fd") >= before + 5; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_LT(entries_of("/proc/self/fd"), before + 5) << "at rest";
}

TEST_F(RemoteLimits, AConnectionWithoutTheKeyIsNoUse) {
  const int fd = connect_to(server->port());
  EXPECT_EQ(::send(fd, "\x16\x03\x01", 3, MSG_NOSIGNAL), 3);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_GT(server->idle_ms(), 500);
  const auto file = open_remote(session(), "data/used", writing());
  EXPECT_TRUE(file.ok());
  std::this_thread::sleep_for(std::chrono::seconds(1));
  for (int i = 0; i < 1'000 && server->idle_ms() >= 500; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_LT(server->idle_ms(), 500);
  ::close(fd);
}

TEST_F(RemoteLimits, ASilentConnectionEndsSoon) {
  server.reset();
  options.reception.first_byte_ms = 100;
  start_server();
  const int fd = connect_to(server->port());
  pollfd ready{fd, POLLIN, 0};
  EXPECT_EQ(::poll(&ready, 1, 5'000), 1);
  char byte = 0;
  EXPECT_LE(::recv(fd, &byte, 1, 0), 0);
  ::close(fd);
  EXPECT_TRUE(logged("it said nothing")) << log();
}

TEST(Printable, LeavesOutWhatATerminalActsOn) {
  EXPECT_EQ(printable("plain \xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"), "plain \xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(printable("\x1b]0;pwned\a\x1b[2J\r\n\x7f"), "?]0;pwned??[2J???");
  EXPECT_EQ(printable("\xC2\x9B" "1m \xE2\x80\xAE" "abc"), "?1m ?abc");
  EXPECT_EQ(printable("\xFF\xC0\xAF\xED\xA0\x80\xE2\x82"), "????????");
  EXPECT_EQ(printable(std::string(4'000'000, 'x')).size(), kMostShown + 3);
  Reply reply;
  reply.outcome = 1;
  reply.text = "\x1b[2Jpassword:";
  reply.host = "h\x1b";
  EXPECT_EQ(error_of(reply).what, "?[2Jpassword: (on h?)");
}

}  // namespace
}  // namespace mercutio::remote
