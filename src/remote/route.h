// Routers: programs on gateways that forward bytes between a client without a route to a server and the server, or the next router.
// TLS is between client and server, so a router cannot read what it forwards. It does check the client and the target: client and
// router prove to each other that they have the router's key (HMAC-SHA256 over random numbers of both) before anything is
// connected. docs/engineers/remote.md specifies the messages.
#pragma once

#include <functional>
#include <optional>

#include "remote/connection_file.h"
#include "remote/reception.h"
#include "remote/wire.h"

namespace mercutio::remote {

// The client's part of a request for a connection, on a nonblocking socket that is connected to the router.
class RouteRequest {
 public:
  RouteRequest(const Hop& router, const Endpoint& target);
  RouteRequest(const Hop& router, const Endpoint& target, const Key& nonce);   // for tests: with a given random number
  // kNothing: the connection to the target exists. kAccess: wrong key, or a target that the router may not connect to.
  Result<Wants> advance(int fd);

 private:
  Result<bool> fill(int fd, size_t bytes);
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

// Whether `targets` permits the target: ADDRESS:PORT as requested, or ADDRESS:* for any port. The address may be in brackets.
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

// The router's part, in the caller's thread. Returns the descriptor of the target. An Error has been sent to the client.
struct Admission {
  const RouterOptions& options;
  Key nonce;                                                                    // a random number
  std::function<Result<int>(const std::string& target, i64 end_ns)> connect;   // `target`: "address port"; EUSERS: the router is full
  bool challenged = false;                                                      // the random number has been sent to the client
};
bool challenge(int fd, const Key& nonce);   // sends the random number; false: it could not be sent
Result<int> admit(int fd, const Admission& by, std::string& target);

class Router {
 public:
  static Result<std::unique_ptr<Router>> start(const RouterOptions& options);
  ~Router();   // closes all connections
  int port() const { return port_; }

 private:
  struct Worker;
  explicit Router(const RouterOptions& options);
  void accept_clients();
  void receive();
  void start_handshake(const PendingConnection& connection);
  void reap();
  void serve(Worker& worker);
  void log(const std::string& text) const;

  const RouterOptions options_;
  RefusalLog refusals_;
  Reception reception_;   // used by the accepting thread only
  int listener_ = -1, wake_ = -1, port_ = 0;
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

// Listens on a numeric address. If `port` is 0, it is set to the port that was assigned.
Result<int> listen_at(const std::string& address, int& port);

}  // namespace mercutio::remote
