// The server: accepts streams and hands each, in a thread of its own, to the service. One thread accepts and keeps house.
#pragma once

#include "base/thread_annotations.h"
#include "remote/service.h"

namespace mercutio::remote {

struct ServerOptions : ServiceOptions {
  std::string address = "127.0.0.1";
  int port = 0;                          // 0: any
  Key key{};
  std::vector<Export> exports;
  i64 most_connections = 256;
};

class Server {
 public:
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options);
  ~Server();   // cuts every stream, ends every session

  int port() const { return port_; }
  i64 idle_ms();          // for how long there has been no client; 0: there is one
  void cut_streams();     // for tests: what a broken link does

 private:
  Server(const ServerOptions& options, Exports exports, std::shared_ptr<TlsContext> tls);
  Status listen();
  void accept_streams();
  void keep_house();
  void accept_one(int fd, const std::string& peer);

  const ServerOptions options_;
  const std::shared_ptr<TlsContext> tls_;
  Service service_;
  int listener_ = -1, wake_ = -1, port_ = 0;
  std::mutex mutex_;
  std::list<Worker> streams_ MERCUTIO_GUARDED_BY(mutex_);
  std::atomic<i64> last_seen_ns_;
  std::atomic<bool> stopping_{false};
  std::thread accepting_;
};

}  // namespace mercutio::remote
