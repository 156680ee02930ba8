// The server: accepts streams, holds the sessions they belong to, and carries requests out. One thread accepts and keeps
// house; each stream has a thread that reads and writes file data; what may take long (locks, sync) gets a thread of its
// own. Everything has a limit: connections, handshake time, frame sizes, files, trees, threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <thread>

#include "remote/operations.h"

namespace mercutio::remote {

struct ServerOptions {
  std::string address = "127.0.0.1";
  int port = 0;                          // 0: any
  Key key{};
  std::vector<Export> exports;
  i64 most_connections = 256;
  i64 most_sessions = 1024;
  i64 most_slow = 64;                    // requests that run beside their streams
  i64 block_bytes = 1 * MiB;
  i64 credit_bytes = 8 * MiB;
  i64 handshake_ms = 10'000;
  i64 silence_ms = 300'000;              // a stream that says nothing for so long is cut
  i64 grace_ms = 120'000;                // a session without streams is kept for so long if it has open files
  i64 short_grace_ms = 10'000;           // and if it has none
  std::function<void(const std::string&)> log;   // the audit log, a line a call; any thread
  std::function<std::unique_ptr<Storage>(std::unique_ptr<Storage>)> around;   // for tests: a file as its clients see it
};

class Server {
 public:
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options);
  ~Server();   // cuts every stream, ends every session

  int port() const { return port_; }
  i64 idle_ms();          // for how long there has been no client; 0: there is one
  void cut_streams();     // for tests: what a broken link does

 private:
  struct Worker {
    std::thread thread;
    std::shared_ptr<Channel> channel;   // of a stream
    std::atomic<bool> finished{false};
  };
  struct JoinAtEnd;
  static void take_finished(std::list<Worker>& from, std::list<Worker>& to);
  using SessionId = std::pair<u64, u64>;

  Server(const ServerOptions& options, Exports exports, std::shared_ptr<TlsContext> tls);
  Status listen();
  void accept_streams();
  void keep_house();
  void accept_one(int fd, const std::string& peer);
  void serve(const std::shared_ptr<Channel>& channel);
  Result<std::shared_ptr<ServedSession>> greet(const std::shared_ptr<Channel>& channel);
  Status end_earlier(const Hello& hello, const Channel& channel);
  Result<std::shared_ptr<ServedSession>> session_of(const Hello& hello, const std::shared_ptr<Channel>& channel);
  Status serve_frames(const std::shared_ptr<Channel>& channel, const std::shared_ptr<ServedSession>& session);
  Status handle(const std::shared_ptr<Channel>& channel, const std::shared_ptr<ServedSession>& session,
                const std::shared_ptr<Frame>& frame);
  bool run_beside(std::function<void()> work);
  void log(const Channel& channel, const std::string& text);
  void log_request(const Channel& channel, const Frame& frame, ConstBytes message, const Buffer& reply);

  const ServerOptions options_;
  const Exports exports_;
  const std::shared_ptr<TlsContext> tls_;
  const Operations operations_;
  int listener_ = -1, wake_ = -1, port_ = 0;
  std::mutex mutex_;
  std::list<Worker> streams_, slow_;
  std::map<SessionId, std::shared_ptr<ServedSession>> sessions_;
  std::atomic<i64> last_seen_ns_;
  std::atomic<bool> stopping_{false};
  std::thread accepting_;
};

}  // namespace mercutio::remote
