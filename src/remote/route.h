// Routers: a program on a gateway that passes bytes on between clients that have no route to a server and the server, or the
// next router. TLS is from client to server: a router carries what it can't read. What it does check is who asks, and where to:
// both ends prove that they have the router's key (HMAC-SHA256 over both sides' random numbers) before anything is connected.
// docs/engineers/remote.md has the bytes.
#pragma once

#include <functional>
#include <optional>

#include "remote/connection_file.h"
#include "remote/reception.h"
#include "remote/wire.h"

namespace mercutio::remote {

// The client's part of asking a router for a connection, over a nonblocking socket that is connected to the router.
class RouteRequest {
 public:
  RouteRequest(const Hop& router, const Endpoint& target);
  RouteRequest(const Hop& router, const Endpoint& target, const Key& nonce);   // for tests: its random number
  // kNothing: what is sent from now on arrives at the target. kAccess: not the router's key, or not a target it may reach.
  Result<Wants> advance(int fd);

 private:
  Result<bool> fill(int fd, size_t bytes);
  Result<Wants> answer();
  Status take_challenge();
  Status take_verdict();

  const Hop router_;
  const std::string target_;
  std::optional<Key> given_;
  Key mine_{}, theirs_{};
  Buffer in_, out_;
  size_t sent_ = 0;
  enum class Stage { kChallenge, kAsking, kVerdict, kDone } stage_ = Stage::kChallenge;
};

// What the target of a request may be: ADDRESS:PORT as it is asked for, or ADDRESS:* for every port there.
bool is_one_of(const std::vector<std::string>& targets, const std::string& address, const std::string& port);

struct RouterOptions {
  std::string address = "127.0.0.1";
  int port = 0;
  Key key{};
  std::vector<std::string> targets;
  i64 most_connections = 1024;
  i64 handshake_ms = 10'000;
  Reception::Limits reception;
  std::function<void(const std::string&)> log;
};

// The router's part of that talk, in the caller's thread: the descriptor of the target. An Error: the client was told.
struct Admission {
  const RouterOptions& options;
  Key nonce;                                                                    // a random number
  std::function<Result<int>(const std::string& target, i64 end_ns)> connect;   // "address port"; EUSERS: the router is full
  bool challenged = false;                                                      // the client has the random number
};
bool challenge(int fd, const Key& nonce);   // sends the random number; false: it can't be sent
Result<int> admit(int fd, const Admission& by, std::string& target);

class Router {
 public:
  static Result<std::unique_ptr<Router>> start(const RouterOptions& options);
  ~Router();   // ends every connection
  int port() const { return port_; }

 private:
  struct Worker;
  explicit Router(const RouterOptions& options);
  void accept_clients();
  void receive();
  void talk_to(const Newcomer& newcomer);
  void reap();
  Result<int> connect(const std::string& target, i64 end_ns);
  void serve(Worker& worker);
  void log(const std::string& text) const;

  const RouterOptions options_;
  RefusalLog refusals_;
  Reception reception_;   // the accepting thread's
  int listener_ = -1, wake_ = -1, port_ = 0;
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

// Listens at a numeric address; `port` 0 becomes the one it got.
Result<int> listen_at(const std::string& address, int& port);

}  // namespace mercutio::remote
