// The server: accepts streams and hands each, in a thread of its own, to the service. One thread accepts and keeps house. Where no
// thread or descriptor is to be had, a connection ends, never the server.
#pragma once

#include "base/thread_annotations.h"
#include "remote/reception.h"
#include "remote/service.h"

namespace mercutio::remote {

struct ServerOptions : ServiceOptions {
  std::string address = "127.0.0.1";
  int port = 0, last_port = 0;           // 0: any; with a last one: the first of them that is free
  Key key{};
  std::vector<Export> exports;
  Reception::Limits reception;
};

class Server {
 public:
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options);
  ~Server();   // cuts every stream, ends every session

  int port() const { return port_; }
  i64 idle_ms();          // for how long there has been no client; 0: there is one
  bool asked_to_end() const { return service_.asked_to_end(); }
  void cut_streams();     // for tests: what a broken link does

 private:
  Server(const ServerOptions& options, Exports exports);
  Status listen();
  void accept_streams();
  void receive();
  void keep_house();
  void talk_to(Newcomer newcomer);

  const ServerOptions options_;
  Service service_;
  std::shared_ptr<TlsContext> tls_;
  Reception reception_;                  // the accepting thread's
  i64 kept_house_ns_ = 0;
  int listener_ = -1, wake_ = -1, port_ = 0;
  std::mutex mutex_;
  std::list<Worker> streams_ MERCUTIO_GUARDED_BY(mutex_);
  std::atomic<i64> last_seen_ns_;
  std::atomic<bool> stopping_{false};
  std::thread accepting_;
};

}  // namespace mercutio::remote
