// What attackers try against a server, a router and the names of hosts: each try is refused, and the server goes on. Fuzzers try the rest
// (tests/fuzz/remote_*.cpp), a client with a wrong key or a recording is in faults_test.cpp.
#include <fcntl.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <limits>

#include "fixture.h"
#include "remote/route.h"
#include "rogue.h"

namespace mercutio::remote {
namespace {

using RemoteAttacks = RemoteTest;

// Whether a client whose TLS has been changed is welcomed.
bool is_welcomed(int port, const Key& key, const TlsNames& names, const std::function<void(SSL_CTX*)>& change) {
  const auto tls = *make_tls(TlsSide::kClient, key, names);
  change(static_cast<SSL_CTX*>(tls->native()));
  Channel channel(std::move(*tls->wrap(connect_to(port))), "attacker");
  if (!channel.shake_hands(5000)) return false;
  (void)channel.send(frame_with(Kind::kHello, 0, Hello{}), 5000);
  Frame frame;
  const auto got = channel.receive(frame, kMaxDataBytes, 5000);
  return got && *got && frame.header.kind == Kind::kWelcome;
}

TEST_F(RemoteAttacks, OtherTlsIsRefused) {
  const int port = server->port();
  const auto with_suites = [](const char* suites) { return [suites](SSL_CTX* tls) { EXPECT_EQ(SSL_CTX_set_ciphersuites(tls, suites), 1); }; };
  const auto as_it_is = [](SSL_CTX*) {};
  EXPECT_TRUE(is_welcomed(port, options.key, {}, as_it_is));
  EXPECT_FALSE(is_welcomed(port, options.key, {}, [](SSL_CTX* tls) {
    EXPECT_EQ(SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION), 1);
    EXPECT_EQ(SSL_CTX_set_max_proto_version(tls, TLS1_2_VERSION), 1);
  })) << "TLS 1.2";
  EXPECT_FALSE(is_welcomed(port, options.key, {}, [](SSL_CTX* tls) { SSL_CTX_set_psk_use_session_callback(tls, nullptr); })) << "no key";
  EXPECT_FALSE(is_welcomed(port, options.key, {}, with_suites("TLS_AES_256_GCM_SHA384")));
  EXPECT_FALSE(is_welcomed(port, options.key, {}, with_suites("TLS_CHACHA20_POLY1305_SHA256")));
  EXPECT_FALSE(is_welcomed(port, options.key, {"somebody", {}}, as_it_is)) << "another name of the key";
  EXPECT_FALSE(is_welcomed(port, Key{}, {}, as_it_is)) << "a key of zeros";
}

// The server's key, as one that allows early data.
int offer_early(SSL* ssl, const EVP_MD*, const unsigned char** identity, size_t* bytes, SSL_SESSION** session) {
  constexpr unsigned char kAes128[] = {0x13, 0x01};
  const Key& key = *static_cast<const Key*>(SSL_get_app_data(ssl));
  *session = SSL_SESSION_new();
  EXPECT_EQ(SSL_SESSION_set1_master_key(*session, key.data(), key.size()), 1);
  EXPECT_EQ(SSL_SESSION_set_cipher(*session, SSL_CIPHER_find(ssl, kAes128)), 1);
  EXPECT_EQ(SSL_SESSION_set_protocol_version(*session, TLS1_3_VERSION), 1);
  EXPECT_EQ(SSL_SESSION_set_max_early_data(*session, 10'000), 1);
  *identity = reinterpret_cast<const unsigned char*>(kOwnIdentity);
  *bytes = sizeof kOwnIdentity - 1;
  return 1;
}

TEST_F(RemoteAttacks, EarlyDataIsNotTaken) {
  const int fd = connect_to(server->port());
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_psk_use_session_callback(context, offer_early);
  SSL* const ssl = SSL_new(context);
  SSL_set_app_data(ssl, &options.key);
  SSL_set_fd(ssl, fd);
  const Buffer hello = frame_with(Kind::kHello, 0, Hello{});
  size_t written = 0;
  EXPECT_EQ(SSL_write_early_data(ssl, hello.data(), hello.size(), &written), 1);
  EXPECT_EQ(SSL_connect(ssl), 1);
  EXPECT_EQ(SSL_get_early_data_status(ssl), SSL_EARLY_DATA_REJECTED);
  SSL_free(ssl);
  SSL_CTX_free(context);
  ::close(fd);
}

TEST_F(RemoteAttacks, LinksOfProcLeadNowhere) {
  server.reset();
  options.exports.push_back({"proc", "/proc/self", false});
  start_server();
  const auto at = session();
  EXPECT_TRUE(open_remote(at, "proc/status", {}).ok());
  for (const char* const path : {"proc/root/etc/passwd", "proc/cwd/.", "proc/exe", "proc/fd/0", "proc/task/../root/etc/passwd"})
    EXPECT_FALSE(open_remote(at, path, {}).ok()) << path;
}

// Files outside of the root, beside links to them inside.
class Outside {
 public:
  explicit Outside(const std::string& root) : folder(root + "-outside") {
    std::filesystem::create_directory(folder);
    std::ofstream(folder + "/secret") << "outside";
    std::ofstream(folder + "/gone") << "x";
  }
  ~Outside() { std::filesystem::remove_all(folder); }
  const std::string folder;
};

TEST_F(RemoteAttacks, ADirectoryThatBecomesALinkLeadsNowhere) {
  const Outside outside(folder);
  const std::string in = folder + "/in", link = folder + "/link";
  std::filesystem::create_directory(in);
  std::ofstream(in + "/secret") << "inside!";
  std::filesystem::create_symlink(outside.folder, link);
  if (::renameat2(AT_FDCWD, in.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE) != 0) GTEST_SKIP() << "no exchange of names here";
  std::atomic<bool> over{false};
  std::thread exchanging([&] {
    while (!over) (void)::renameat2(AT_FDCWD, in.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
  });
  const auto at = session();
  i64 opened = 0, refused = 0;
  const i64 begin = now_ns();
  const auto lasts = [&](i64 seconds) { return now_ns() - begin < seconds * 1'000'000'000; };
  while (lasts(1) || ((opened == 0 || refused == 0) && lasts(30))) {
    const auto file = open_remote(at, "data/in/secret", {});
    (void)remove(*at, "data/in/gone");
    if (!file && ++refused) continue;
    std::byte data[7];
    const IoPiece piece{0, data, sizeof data};
    EXPECT_TRUE((*file)->read(std::span(&piece, 1)).ok());
    EXPECT_EQ(std::memcmp(data, "inside!", sizeof data), 0);
    ++opened;
  }
  over = true;
  exchanging.join();
  EXPECT_GT(opened, 0);
  EXPECT_GT(refused, 0);
  EXPECT_TRUE(std::filesystem::exists(outside.folder + "/gone"));
}

TEST_F(RemoteAttacks, OnlyFilesInsideAreOpenedOrMade) {
  const Outside outside(folder);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  (void)(folder + "/socket").copy(name.sun_path, sizeof name.sun_path - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  std::filesystem::create_symlink("new", folder + "/inwards");
  std::filesystem::create_symlink(outside.folder + "/new", folder + "/outwards");
  std::filesystem::create_symlink("/dev/null", folder + "/device");
  const auto at = session();
  EXPECT_FALSE(open_remote(at, "data/socket", {}).ok());
  EXPECT_FALSE(open_remote(at, "data/device", {}).ok());
  EXPECT_FALSE(open_remote(at, "data/outwards", writing()).ok());
  EXPECT_FALSE(std::filesystem::exists(outside.folder + "/new"));
  EXPECT_TRUE(open_remote(at, "data/inwards", writing()).ok());
  EXPECT_TRUE(std::filesystem::exists(folder + "/new"));
  EXPECT_FALSE(open_remote(at, "data/" + std::string(5000, 'a'), writing()).ok());
  ::close(socket);
}

// A client that has opened a file.
class Opener : public Rogue {
 public:
  Opener(int port, const Key& key, u64 session) : Rogue(port, key) {
    Hello said;
    said.session_high = said.session_low = session;
    hello(said);
    OpenRequest wanted;
    wanted.path = "data/numbers";
    wanted.write = wanted.create = true;
    ask(Kind::kOpen, 1, wanted);
    handle = get_message<OpenReply>(reply_to(1).more)->handle;
  }
  std::uint32_t outcome_of(Kind kind, const TransferRequest& request, i64 data_bytes = 0) {
    const std::vector<std::byte> data(static_cast<size_t>(data_bytes));
    ask(kind, ++last_id, request, data);
    return reply_to(last_id).outcome;
  }
  std::uint32_t outcome_of(Kind kind, u64 target, i64 value, i64 end = 0) {
    PlainRequest request;
    request.target = target;
    request.value = value;
    request.end = end;
    ask(kind, ++last_id, request);
    return reply_to(last_id).outcome;
  }
  u64 handle = 0, last_id = 1;
};

TEST_F(RemoteAttacks, RangesOfNoFileAreErrors) {
  constexpr i64 kMost = std::numeric_limits<i64>::max();
  constexpr auto kFailed = static_cast<std::uint32_t>(Outcome::kFailed);
  Opener client(server->port(), options.key, 1);
  const auto range = [&](i64 displacement, i64 begin, i64 end) {
    TransferRequest request;
    request.handle = client.handle;
    request.displacement = displacement;
    request.begin = begin;
    request.end = end;
    return request;
  };
  EXPECT_EQ(client.outcome_of(Kind::kWrite, range(0, 0, 10), 10), 0U);
  constexpr std::array<i64, 3> kRanges[] = {{0, -1, 9},          {-5, 0, 10},           {0, 5, 1},        {kMost, 0, 10},      {kMost - 5, 0, 10},
                                            {kMost, kMost - 10, kMost}, {0, 0, kMost}, {0, 0, 2 * MiB}, {-kMost - 1, 0, 10}, {-kMost - 1, -kMost - 1, kMost}};
  for (const auto& [displacement, begin, end] : kRanges) {
    EXPECT_EQ(client.outcome_of(Kind::kRead, range(displacement, begin, end)), kFailed) << displacement << " " << begin << " " << end;
    EXPECT_EQ(client.outcome_of(Kind::kWrite, range(displacement, begin, end), 10), kFailed) << displacement << " " << begin << " " << end;
  }
  for (const Kind kind : {Kind::kSetSize, Kind::kPreallocate}) EXPECT_EQ(client.outcome_of(kind, client.handle, -1), kFailed);
  EXPECT_EQ(client.outcome_of(Kind::kChecksum, client.handle, 10, 5), kFailed);
  EXPECT_EQ(client.outcome_of(Kind::kChecksum, client.handle, -10, 5), kFailed);
  EXPECT_EQ(client.outcome_of(Kind::kChecksum, client.handle, 0, kMost), kFailed);
  EXPECT_EQ(client.outcome_of(Kind::kLock, client.handle, 10, -5), kFailed);
  Opener other(server->port(), options.key, 2);   // has files of its own
  EXPECT_EQ(other.outcome_of(Kind::kSize, client.handle + 1000, 0), kFailed);
  EXPECT_EQ(other.outcome_of(Kind::kUnlock, client.handle, 0), kFailed);
  EXPECT_EQ(client.outcome_of(Kind::kSize, client.handle, 0), 0U);
  EXPECT_EQ(content("numbers").size(), 10U);
}

TEST_F(RemoteAttacks, NamesForgeNoLinesOfTheLog) {
  (void)open_remote(session(), "data/a\nfar process 1 joined\x1b[2J\xc2\x9b", {});
  EXPECT_TRUE(logged("opens to read data/a?far process 1 joined?[2J")) << log();
  EXPECT_EQ(log().find("\x1b"), std::string::npos);
  EXPECT_EQ(log().find("\xc2\x9b"), std::string::npos);
}

TEST(RemoteNamesOfHosts, AreNeitherPathsNorOptions) {
  for (const std::string& host : {std::string("../x"), std::string("a/b"), std::string(), std::string("."), std::string(".."), std::string(".hidden"), std::string("x y"),
                                  std::string("x\ny"), std::string("x\0y", 3)})
    EXPECT_EQ(load_connection(host).error().cls, ErrorClass::kBadFile) << host;
  EXPECT_FALSE(load_connection("-oProxyCommand=false").ok());   // the name of a file that is not there
}

// What a router says to a client that answers its challenge so.
std::string answer_of_router(int port, const std::string& said) {
  const int fd = connect_to(port);
  std::string heard;
  for (bool asked = false;;) {
    if (!asked && heard.size() >= 40) {
      heard.clear();
      asked = ::send(fd, said.data(), said.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(said.size());
    }
    pollfd ready{fd, POLLIN, 0};
    char data[512];
    const ssize_t got = ::poll(&ready, 1, 15'000) > 0 ? ::recv(fd, data, sizeof data, 0) : 0;
    if (got <= 0) break;
    heard.append(data, static_cast<size_t>(got));
  }
  ::close(fd);
  return heard;
}

TEST_F(RemoteAttacks, RoutersLeadOnlyWhereTheyMay) {
  const std::string port = std::to_string(server->port());
  for (const char* const alias : {"localhost", "127.1", "0x7f000001", "2130706433", "::ffff:127.0.0.1", "::1", "0.0.0.0", "127.0.0.1.", "127.0.0.01"})
    EXPECT_FALSE(is_one_of({"127.0.0.1:" + port}, alias, port)) << alias;
  EXPECT_FALSE(is_one_of({"127.0.0.1:" + port}, "127.0.0.1", "22"));
  EXPECT_TRUE(is_one_of({"127.0.0.1:" + port}, "127.0.0.1", port));
  RouterOptions routing;
  routing.key = *make_key();
  routing.targets = {"127.0.0.1:" + port};
  const auto router = std::move(*Router::start(routing));
  const std::string begin = "mercrt01" + std::string(32, 'r'), target = "127.0.0.1 " + port;
  const auto sized = [](std::uint32_t bytes) { return std::string(reinterpret_cast<const char*>(&bytes), sizeof bytes); };
  for (const char proof : {'\0', 'p'}) {
    const std::string answer = answer_of_router(router->port(), begin + sized(static_cast<std::uint32_t>(target.size())) + target + std::string(32, proof));
    ASSERT_FALSE(answer.empty());
    EXPECT_EQ(answer[0], 1) << "a wrong key";
  }
  const std::string answer = answer_of_router(router->port(), begin + sized(0xFFFFFFFF) + target + std::string(32, 'p'));
  EXPECT_TRUE(answer.empty() || answer[0] != 0) << "a target of 4 GiB";
  connection.hops = {{{"127.0.0.1", router->port()}, routing.key}};
  EXPECT_TRUE(open_remote(session(), "data/after", writing()).ok());
}

}  // namespace
}  // namespace mercutio::remote
