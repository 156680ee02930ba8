// Copies between two servers that don't pass through the program that asks for them.
#include <poll.h>
#include <sys/socket.h>

#include <cstdlib>

#include "copy_file.h"
#include "fixture.h"
#include "storage/forwarding.h"

namespace mercutio::remote {
namespace {

// Passes on one connection to `target`; nobody else can connect.
class OneWay {
 public:
  explicit OneWay(int target) : listener_(listen_here(port)), thread_([this, target] { pass(target); }) {}
  ~OneWay() {
    stopping_ = true;
    thread_.join();
  }
  int port = 0;

 private:
  void pass(int target) {
    const int fds[] = {::accept(listener_, nullptr, nullptr), connect_to(target)};
    ::close(listener_);
    std::vector<char> bytes(256 * KiB);
    for (bool open = true; open && !stopping_;) {
      pollfd ready[] = {{fds[0], POLLIN, 0}, {fds[1], POLLIN, 0}};
      (void)::poll(ready, 2, 20);
      for (int side = 0; side < 2; ++side) {
        if (ready[side].revents == 0) continue;
        const ssize_t got = ::recv(fds[side], bytes.data(), bytes.size(), 0);
        open = open && got > 0 && ::send(fds[1 - side], bytes.data(), static_cast<size_t>(got), MSG_NOSIGNAL) == got;
      }
    }
    for (const int fd : fds) ::close(fd);
  }
  std::atomic<bool> stopping_{false};
  const int listener_;
  std::thread thread_;
};

// Each write takes a while, so that something can happen during a copy.
class Slow final : public Forwarding {
 public:
  Slow(std::unique_ptr<Storage> inner, const std::atomic<i64>& pause_ms) : Forwarding(std::move(inner)), pause_ms_(pause_ms) {}
  Result<i64> write(std::span<const IoPiece> pieces) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms_));
    return inner_->write(pieces);
  }
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override { return Storage::start(direction, std::move(pieces)); }

 private:
  const std::atomic<i64>& pause_ms_;
};

// The fixture's server is the one that files are copied to.
class DirectCopies : public RemoteTest {
 protected:
  void SetUp() override {
    options.around = [this](std::unique_ptr<Storage> inner) -> std::unique_ptr<Storage> { return std::make_unique<Slow>(std::move(inner), pause_ms); };
    options.grace_ms = options.short_grace_ms = 300;
    RemoteTest::SetUp();
    sender_options.key = *make_key();
    std::filesystem::create_directory(folder + "/source");
    sender_options.exports = {{"data", folder + "/source", true}};
    sender_options.copy_to = {"*"};
    sender_options.grace_ms = sender_options.short_grace_ms = 300;
    ::setenv("MERCUTIO_CONNECTIONS", (folder + "/connections").c_str(), 1);
    content_of_source = filled(20'000'003, 1);
    std::ofstream(folder + "/source/x", std::ios::binary).write(reinterpret_cast<const char*>(content_of_source.data()), static_cast<std::streamsize>(content_of_source.size()));
    std::filesystem::permissions(folder + "/source/x", std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    start_sender();
    store("b", connection, server->port());
  }
  void TearDown() override {
    ::unsetenv("MERCUTIO_CONNECTIONS");
    sender.reset();
    RemoteTest::TearDown();
  }
  void start_sender() {
    auto started = Server::start(sender_options);
    ASSERT_TRUE(started.ok()) << started.error().what;
    sender = std::move(*started);
    way_to_sender = std::make_unique<Relay>(sender->port());
    Connection here;
    here.key = sender_options.key;
    store("a", here, way_to_sender->port());
  }
  static void store(const std::string& host, Connection known, int port) {
    known.host = host;
    known.servers = {{"127.0.0.1", port}};
    known.patience_ms = 2'000;
    ASSERT_TRUE(store_connection(known).ok());
  }
  Status copy(Trees& trees) {
    const Trees::Place source = trees.place("mercutio://a/data/x");
    CopyView view;
    view.say = [this](const std::string& text) { said += text + "\n"; };
    return copy_file(source, trees.place("mercutio://b/data/copy"), settings, view);
  }
  Status copy() {
    Trees trees;
    return copy(trees);
  }
  bool is_whole() { return same(content("copy"), content_of_source); }
  bool part_is_there() const { return std::filesystem::exists(folder + "/.copy.mercutio-part"); }
  // Runs a copy in a thread until some of it is there; then `work`.
  template <class Work>
  Status copy_while(Work work) {
    pause_ms = 20;
    Status result = ok_status();
    std::thread copying([&] { result = copy(); });
    for (int i = 0; i < 1000 && content(".copy.mercutio-part").size() < 1'000'000; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    work();
    copying.join();
    return result;
  }

  std::atomic<i64> pause_ms{0};
  ServerOptions sender_options;
  std::unique_ptr<Server> sender;
  std::unique_ptr<Relay> way_to_sender;
  std::vector<std::byte> content_of_source;
  CopySettings settings;
  std::string said;
};

TEST_F(DirectCopies, DontPassThroughTheirProgram) {
  const Status copied = copy();
  ASSERT_TRUE(copied.ok()) << copied.error().what;
  EXPECT_TRUE(is_whole());
  EXPECT_EQ(said, "");
  EXPECT_FALSE(part_is_there());
  EXPECT_LT(way_to_sender->bytes(1), 100'000);
  EXPECT_EQ(std::filesystem::status(folder + "/copy").permissions(), std::filesystem::status(folder + "/source/x").permissions());
  EXPECT_EQ(std::filesystem::last_write_time(folder + "/copy"), std::filesystem::last_write_time(folder + "/source/x"));
  EXPECT_TRUE(logged("lets another server write"));
}

TEST_F(DirectCopies, KeepHolesAndResume) {
  std::filesystem::resize_file(folder + "/source/x", 60'000'000);
  content_of_source.resize(60'000'000);
  std::ofstream(folder + "/.copy.mercutio-part", std::ios::binary).write(reinterpret_cast<const char*>(content_of_source.data()), 17'000'000);
  settings.resume = true;
  Status copied = copy();
  ASSERT_TRUE(copied.ok()) << copied.error().what;
  EXPECT_TRUE(is_whole());
  settings.resume = false;
  copied = copy();
  ASSERT_TRUE(copied.ok()) << copied.error().what;
  EXPECT_TRUE(is_whole());
  struct stat status {};
  ASSERT_EQ(::stat((folder + "/copy").c_str(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 40'000'000);
  EXPECT_EQ(said, "");
}

TEST_F(DirectCopies, GoThroughHereWhereAServerMayNot) {
  for (const std::vector<std::string>& allowed : {std::vector<std::string>{}, {"127.0.0.1:1"}, {"10.0.0.1:*"}}) {
    sender.reset();
    sender_options.copy_to = allowed;
    start_sender();
    said.clear();
    const Status copied = copy();
    ASSERT_TRUE(copied.ok()) << copied.error().what;
    EXPECT_TRUE(is_whole());
    EXPECT_NE(said.find("a can't copy to b by itself, the data goes through this machine"), std::string::npos) << said;
    EXPECT_NE(said.find("--copy-to"), std::string::npos) << said;
  }
}

TEST_F(DirectCopies, GoThroughHereWhereTheOtherServerIsNotReached) {
  const OneWay ours(server->port());
  connection.streams = 1;
  store("b", connection, ours.port);
  Trees trees;
  ASSERT_TRUE(trees.place("mercutio://b/data").tree->status("data").ok());   // the only connection
  const Status copied = copy(trees);
  ASSERT_TRUE(copied.ok()) << copied.error().what;
  EXPECT_TRUE(is_whole());
  EXPECT_NE(said.find("refused"), std::string::npos) << said;
}

TEST_F(DirectCopies, FailWithTheSource) {
  settings.parallel = 1;   // the rest of it is read later
  const Status copied = copy_while([&] { std::filesystem::resize_file(folder + "/source/x", 1'000); });
  ASSERT_FALSE(copied.ok());
  EXPECT_NE(copied.error().what.find("became shorter"), std::string::npos) << copied.error().what;
  EXPECT_NE(copied.error().what.find("(on a)"), std::string::npos) << copied.error().what;
  EXPECT_EQ(content("copy"), "");
}

TEST_F(DirectCopies, EndWithTheServerThatSends) {
  const Status copied = copy_while([&] {
    sender.reset();
    way_to_sender.reset();
  });
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(content("copy"), "");
  EXPECT_TRUE(part_is_there());
}

TEST_F(DirectCopies, EndWithTheServerThatReceives) {
  const Status copied = copy_while([&] { server.reset(); });
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(content("copy"), "");
}

// Its program is gone: both servers see that, within the time that they keep a program's files.
TEST_F(DirectCopies, EndWithTheirProgram) {
  pause_ms = 50;
  {
    RemoteHost a("a"), b("b");
    auto file = b.open("data/part", writing());
    ASSERT_TRUE(file.ok());
    auto& part = dynamic_cast<RemoteStorage&>(**file);
    ASSERT_TRUE(part.claim().ok());
    Buffer message, sending;
    PlainRequest request;
    request.target = part.handle();
    put_message(message, request);
    const GrantReply granted = *get_message<GrantReply>((*b.session())->call(Kind::kGrant, std::move(message))->more);
    SendRequest send;
    send.path = "data/x";
    send.other = "data/part";
    send.host = "b";
    send.address = "127.0.0.1";
    send.port = server->port();
    send.identity = granted.identity;
    send.key = granted.key;
    put_message(sending, send);
    ASSERT_TRUE((*a.session())->call(Kind::kSend, std::move(sending)).ok());
    for (int i = 0; i < 1000 && content("part").empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    (*a.session())->give_up(Error{ErrorClass::kIo, "gone"});
    (*b.session())->give_up(Error{ErrorClass::kIo, "gone"});
  }
  const i64 start = now_ns();
  auto last = std::filesystem::last_write_time(folder + "/part");
  for (int quiet = 0; quiet < 20 && now_ns() - start < 10'000'000'000; std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
    const auto now = std::filesystem::last_write_time(folder + "/part");
    quiet = now == last ? quiet + 1 : 0;
    last = now;
  }
  EXPECT_LT(now_ns() - start, 9'000'000'000);
  EXPECT_FALSE(same(content("part"), content_of_source));
}

}  // namespace
}  // namespace mercutio::remote
