// The server: accepts streams and passes each, in a thread of its own, to the service. One thread accepts connections and does the
// periodic work. If no thread or descriptor is available, a connection is closed, and the server continues.
#pragma once

#include "base/thread_annotations.h"
#include "remote/reception.h"
#include "remote/service.h"

namespace mercutio::remote {

struct ServerOptions : ServiceOptions {
  std::string address = "127.0.0.1";
  int port = 0, last_port = 0;           // 0: any port; with last_port: the first free one of the range
  Key key{};
  std::vector<Export> exports;
  Reception::Limits reception;
};

class Server {
 public:
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options);
  ~Server();   // cuts all streams and ends all sessions

  int port() const { return port_; }
  i64 idle_ms();          // time without clients; 0: there are clients
  bool asked_to_end() const { return service_.asked_to_end(); }
  void cut_streams();     // for tests: simulates broken links

 private:
  Server(const ServerOptions& options, Exports exports);
  Status listen();
  void accept_streams();
  void receive();
  void do_periodic_work();
  void join_finished();
  void start_handshake(PendingConnection connection);
  void replace_slow_threads(i64 now);

  const ServerOptions options_;
  Service service_;
  std::shared_ptr<TlsContext> tls_;
  Reception reception_;                  // used by the accepting thread only
  i64 periodic_work_ns_ = 0;
  int listener_ = -1, wake_ = -1, port_ = 0;
  std::mutex mutex_;
  std::list<Worker> streams_ MERCUTIO_GUARDED_BY(mutex_);
  std::atomic<i64> last_seen_ns_;
  std::atomic<bool> stopping_{false};
  std::thread accepting_;
};

}  // namespace mercutio::remote
