#include "remote/server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/trace.h"
#include "remote/route.h"
#include "base/attempt.h"
#include "base/threads.h"

namespace mercutio::remote {
namespace {

constexpr int kPeriodicWorkMs = 250, kTurnMs = 20;
constexpr int kAcceptedAtOnce = 64;
constexpr i64 kSlowNs = 200'000'000;       // a request of that time may keep others waiting
constexpr i64 kLeavesNs = 2'000'000'000;   // for a previous server at the same port that is ending

}  // namespace

Server::Server(const ServerOptions& options, Exports exports)
    : options_(options), service_(options, std::move(exports)), reception_(options.reception, service_.refusals()), last_seen_ns_(now_ns()) {}

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options) {
  MERCUTIO_LET(Exports exports, Exports::open(options.exports));
  std::unique_ptr<Server> server(new Server(options, std::move(exports)));
  const auto grants = server->service_.grants();
  MERCUTIO_LET(server->tls_, make_tls(TlsSide::kServer, options.key, {kOwnIdentity, [grants](const std::string& identity) { return grants->key_of(identity); }}));
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
  const i64 begin = now_ns();
  for (int port = options_.port; listener_ < 0;) {
    port_ = port;
    const Result<int> listener = listen_at(options_.address, port_);
    if (listener) {
      listener_ = *listener;
    } else if (listener.error().sys_errno == EADDRINUSE && port < options_.last_port) {
      ++port;
    } else if (listener.error().sys_errno == EADDRINUSE && now_ns() - begin < kLeavesNs) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kTurnMs));
    } else {
      return listener.error();
    }
  }
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  return wake_ >= 0 ? ok_status() : Status(error_from_errno("eventfd", errno));
}

void Server::accept_streams() {
  while (!stopping_) {
    std::vector<pollfd> ready = {{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
    (void)attempt([&] {
      reception_.add_to(ready);
      return ok_status();
    });
    (void)::poll(ready.data(), ready.size(), reception_.has_waiting() ? kTurnMs : kPeriodicWorkMs);
    if (stopping_) return;
    (void)attempt([&] {
      const i64 now = now_ns();
      join_finished();
      if (now - periodic_work_ns_ > i64{kPeriodicWorkMs} * 1'000'000) do_periodic_work();
      reception_.take_events(ready, now);
      if ((ready[0].revents & POLLIN) != 0) receive();
      for (PendingConnection next = reception_.next(now); next.fd >= 0; next = reception_.next(now)) start_handshake(std::move(next));
      return ok_status();
    });
  }
}

void Server::receive() {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    PendingConnection connection = accept_from(listener_, now_ns());
    if (connection.fd >= 0) {
      reception_.receive(std::move(connection));
      continue;
    }
    const bool no_room = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
    if (!no_room || reception_.close_oldest(now_ns())) return;
    service_.refusals().say("somebody", "no descriptors are left: raise 'ulimit -n'", now_ns());
    if (service_.cut_spare_stream()) return;
    pollfd wake{wake_, POLLIN, 0};
    (void)::poll(&wake, 1, kPeriodicWorkMs);   // until a connection ends
    return;
  }
}

void Server::start_handshake(PendingConnection connection) {
  auto stream = tls_->wrap(connection.fd);
  if (!stream) return service_.refusals().say(connection.peer, stream.error().what, now_ns());
  std::lock_guard guard(mutex_);
  Worker& worker = streams_.emplace_back();
  const auto channel = std::make_shared<Channel>(std::move(*stream), connection.peer);
  worker.stream = std::make_shared<ServedStream>(channel);
  worker.handshake = reception_.begin(connection, [weak = std::weak_ptr<Channel>(channel)] {
    if (const auto slow = weak.lock()) slow->cut();
  });
  auto thread = start_thread([this, &worker] {
    const Status served = attempt([&] {
      service_.serve(worker.stream, [&] { worker.handshake->over = true; });
      return ok_status();
    });
    if (!served) worker.stream->channel()->cut();
    worker.finished = true;
  });
  if (thread) {
    worker.thread = std::move(*thread);
    return;
  }
  service_.refusals().say(connection.peer, thread.error().what, now_ns());
  streams_.pop_back();   // closes the connection; the client tries again
  (void)service_.cut_spare_stream();
}

// Where a request takes long, another thread serves its stream. Without a thread for that the stream waits.
void Server::replace_slow_threads(i64 now) {
  std::lock_guard guard(mutex_);
  std::vector<std::pair<const Worker*, i64>> slow;
  i64 replaced = 0;
  for (const Worker& worker : streams_) {
    if (worker.finished) continue;
    if (worker.stream->turn() != worker.turn) {
      ++replaced;
    } else if (const i64 since = worker.stream->working_since(); since != 0 && now - since > kSlowNs) {
      slow.emplace_back(&worker, since);
    }
  }
  for (const auto& [worker, since] : slow) {
    if (replaced++ >= options_.most_slow) return;
    Worker& next = streams_.emplace_back();
    next.stream = worker->stream;
    next.turn = worker->turn + 1;
    auto thread = start_thread([this, &next, since = since] {
      (void)attempt([&] {
        service_.take_over(next.stream, since);
        return ok_status();
      });
      next.finished = true;
    });
    if (!thread) return streams_.pop_back();
    next.thread = std::move(*thread);
  }
}

// Joins threads that are done and closes their connections. At each turn: anybody can make handshakes that fail.
void Server::join_finished() {
  std::list<Worker> finished;   // joined after the lock has been released
  const JoinAtEnd join{finished};
  std::lock_guard guard(mutex_);
  take_finished(streams_, finished);
}

// Ends sessions whose clients have been absent for too long.
void Server::do_periodic_work() {
  const i64 now = periodic_work_ns_ = now_ns();
  service_.refusals().end_period(now);
  if (service_.do_periodic_work(now)) last_seen_ns_ = now;
  replace_slow_threads(now);
}

i64 Server::idle_ms() {
  return (now_ns() - last_seen_ns_) / 1'000'000;
}

void Server::cut_streams() {
  std::lock_guard guard(mutex_);
  for (Worker& worker : streams_) worker.stream->channel()->cut();
}

}  // namespace mercutio::remote
