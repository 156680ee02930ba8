#include "remote/server.h"

#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "base/trace.h"
#include "remote/route.h"
#include "base/attempt.h"
#include "base/threads.h"

namespace mercutio::remote {
namespace {

constexpr int kHousePeriodMs = 250;

std::string text_of(const sockaddr_storage& address, socklen_t bytes) {
  char host[128] = "?", port[16] = "?";
  (void)::getnameinfo(reinterpret_cast<const sockaddr*>(&address), bytes, host, sizeof host, port, sizeof port,
                      NI_NUMERICHOST | NI_NUMERICSERV);
  return std::string(host) + " " + port;
}

}  // namespace

Server::Server(const ServerOptions& options, Exports exports, std::shared_ptr<TlsContext> tls)
    : options_(options), tls_(std::move(tls)), service_(options, std::move(exports)), last_seen_ns_(now_ns()) {}

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options) {
  MERCUTIO_LET(Exports exports, Exports::open(options.exports));
  MERCUTIO_LET(auto tls, make_tls(TlsSide::kServer, options.key));
  std::unique_ptr<Server> server(new Server(options, std::move(exports), std::move(tls)));
  MERCUTIO_TRY(server->listen());
  MERCUTIO_LET(server->accepting_, start_thread([s = server.get()] { s->accept_streams(); }));
  return server;
}

Server::~Server() {
  stopping_ = true;
  if (wake_ >= 0) (void)::eventfd_write(wake_, 1);
  if (accepting_.joinable()) accepting_.join();
  cut_streams();
  for (Worker& stream : streams_) stream.thread.join();
  if (listener_ >= 0) ::close(listener_);
  if (wake_ >= 0) ::close(wake_);
}

Status Server::listen() {
  port_ = options_.port;
  MERCUTIO_LET(listener_, listen_at(options_.address, port_));
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  return wake_ >= 0 ? ok_status() : Status(error_from_errno("eventfd", errno));
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
  auto thread = start_thread([this, &worker] {
    const Status served = attempt([&] {
      service_.serve(worker.channel);
      return ok_status();
    });
    if (!served) worker.channel->cut();
    worker.finished = true;
  });
  if (thread) {
    worker.thread = std::move(*thread);
  } else {
    streams_.pop_back();   // cuts it: the client tries again
  }
}

// Threads that are done are joined, and sessions whose clients have been gone for too long end.
void Server::keep_house() {
  std::list<Worker> finished;   // joined when the lock is free again
  const JoinAtEnd join{finished};
  const i64 now = now_ns();
  bool used = service_.keep_house(now);
  {
    std::lock_guard guard(mutex_);
    take_finished(streams_, finished);
    used = used || !streams_.empty();
  }
  if (used) last_seen_ns_ = now;
}

i64 Server::idle_ms() {
  return (now_ns() - last_seen_ns_) / 1'000'000;
}

void Server::cut_streams() {
  std::lock_guard guard(mutex_);
  for (Worker& stream : streams_) stream.channel->cut();
}

}  // namespace mercutio::remote
