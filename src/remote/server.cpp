#include "remote/server.h"

#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/trace.h"
#include "remote/route.h"
#include "remote/threads.h"

namespace mercutio::remote {
namespace {

constexpr int kHousePeriodMs = 250;

std::string host_name() {
  char name[256] = "";
  (void)::gethostname(name, sizeof name - 1);
  return name;
}

std::string text_of(const sockaddr_storage& address, socklen_t bytes) {
  char host[128] = "?", port[16] = "?";
  (void)::getnameinfo(reinterpret_cast<const sockaddr*>(&address), bytes, host, sizeof host, port, sizeof port,
                      NI_NUMERICHOST | NI_NUMERICSERV);
  return std::string(host) + " " + port;
}

}  // namespace

Server::Server(const ServerOptions& options, Exports exports, std::shared_ptr<TlsContext> tls)
    : options_(options),
      exports_(std::move(exports)),
      tls_(std::move(tls)),
      operations_{exports_, host_name(), options.block_bytes, Hints{}, options.around},
      last_seen_ns_(now_ns()) {}

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options) {
  MERCUTIO_LET(Exports exports, Exports::open(options.exports));
  MERCUTIO_LET(auto tls, make_tls(TlsSide::kServer, options.key));
  std::unique_ptr<Server> server(new Server(options, std::move(exports), std::move(tls)));
  MERCUTIO_TRY(server->listen());
  server->accepting_ = start_thread([s = server.get()] { s->accept_streams(); });
  return server;
}

Server::~Server() {
  stopping_ = true;
  if (wake_ >= 0) (void)::eventfd_write(wake_, 1);
  if (accepting_.joinable()) accepting_.join();
  std::map<SessionId, std::shared_ptr<ServedSession>> sessions;
  {
    std::lock_guard guard(mutex_);
    sessions.swap(sessions_);
    for (Worker& stream : streams_) stream.channel->cut();
  }
  for (Worker& stream : streams_) stream.thread.join();
  for (auto& [id, session] : sessions) session->end();   // whoever waits for a lock gets it now
  for (Worker& slow : slow_) slow.thread.join();
  if (listener_ >= 0) ::close(listener_);
  if (wake_ >= 0) ::close(wake_);
}

Status Server::listen() {
  port_ = options_.port;
  MERCUTIO_LET(listener_, listen_at(options_.address, port_));
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  return wake_ >= 0 ? ok_status() : Status(error_from_errno("eventfd", errno));
}

struct Server::JoinAtEnd {
  std::list<Worker>& workers;
  ~JoinAtEnd() {
    for (Worker& worker : workers) worker.thread.join();
  }
};

void Server::take_finished(std::list<Worker>& from, std::list<Worker>& to) {
  for (auto at = from.begin(); at != from.end();) {
    const auto next = std::next(at);
    if (at->finished) to.splice(to.end(), from, at);
    at = next;
  }
}

void Server::accept_streams() {
  while (!stopping_) {
    pollfd ready[] = {{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
    (void)::poll(ready, 2, kHousePeriodMs);
    if (stopping_) return;
    keep_house();
    if ((ready[0].revents & POLLIN) == 0) continue;
    sockaddr_storage address{};
    socklen_t bytes = sizeof address;
    const int fd = ::accept4(listener_, reinterpret_cast<sockaddr*>(&address), &bytes, SOCK_CLOEXEC);
    if (fd >= 0)
      accept_one(fd, text_of(address, bytes));
    else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
      (void)::poll(&ready[1], 1, kHousePeriodMs);   // somebody has to leave first
  }
}

void Server::accept_one(int fd, const std::string& peer) {
  std::lock_guard guard(mutex_);
  if (static_cast<i64>(streams_.size()) >= options_.most_connections) {
    ::close(fd);
    if (options_.log) options_.log(peer + " refused: too many connections");
    return;
  }
  auto stream = tls_->wrap(fd);
  if (!stream) return;
  Worker& worker = streams_.emplace_back();
  worker.channel = std::make_shared<Channel>(std::move(*stream), peer);
  worker.thread = start_thread([this, &worker] {
    serve(worker.channel);
    worker.finished = true;
  });
}

// Threads that are done are joined, and sessions whose clients have been gone for too long end.
void Server::keep_house() {
  std::vector<std::shared_ptr<ServedSession>> over;
  std::list<Worker> finished;
  const JoinAtEnd join{finished};
  {
    std::lock_guard guard(mutex_);
    for (std::list<Worker>* workers : {&streams_, &slow_}) take_finished(*workers, finished);
    const i64 now = now_ns();
    for (auto at = sessions_.begin(); at != sessions_.end();) {
      const i64 since = at->second->idle_since();
      const i64 grace_ms = at->second->holds_files() ? options_.grace_ms : options_.short_grace_ms;
      const bool expired = since >= 0 && now - since > grace_ms * 1'000'000;
      if (expired) over.push_back(at->second);
      at = expired ? sessions_.erase(at) : std::next(at);
    }
    if (!streams_.empty() || !sessions_.empty()) last_seen_ns_ = now;
  }
  for (auto& session : over) session->end();
}

i64 Server::idle_ms() {
  return (now_ns() - last_seen_ns_) / 1'000'000;
}

void Server::cut_streams() {
  std::lock_guard guard(mutex_);
  for (Worker& stream : streams_) stream.channel->cut();
}

void Server::log(const Channel& channel, const std::string& text) {
  if (!options_.log) return;
  std::string line = channel.peer() + " " + text;   // a line, whatever a path holds
  std::replace_if(line.begin(), line.end(), [](char c) { return (c >= 0 && c < ' ') || c == 127; }, '?');
  options_.log(line);
}

bool Server::run_beside(std::function<void()> work) {
  std::list<Worker> finished;   // joined when the lock is free again
  const JoinAtEnd join{finished};
  std::lock_guard guard(mutex_);
  take_finished(slow_, finished);
  if (stopping_ || static_cast<i64>(slow_.size()) >= options_.most_slow) return false;
  Worker& worker = slow_.emplace_back();
  worker.thread = start_thread([&worker, work = std::move(work)] {
    work();
    worker.finished = true;
  });
  return true;
}

}  // namespace mercutio::remote
