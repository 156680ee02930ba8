// Cost: splice(2) moves data from socket to socket through a pipe. It is never copied into this process.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <list>
#include <mutex>
#include <optional>

#include "base/attempt.h"
#include "base/threads.h"
#include "base/trace.h"
#include "remote/descriptor.h"
#include "remote/printable.h"
#include "remote/route.h"
#include "remote/sockets.h"

namespace mercutio::remote {
namespace {

constexpr int kPipeBytes = 1 << 20;
constexpr int kBacklog = 4096;                            // limited further by the kernel
constexpr i64 kDescriptors = 6, kOtherDescriptors = 64;   // per connection; of the router itself

}  // namespace

Result<int> listen_at(const std::string& address, int& port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  const int wrong = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (wrong != 0)
    return Error{ErrorClass::kArg, "can't listen on '" + address + "': " + ::gai_strerror(wrong) +
                                       "; write a numeric address of this machine, for example 127.0.0.1:0"};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return error_from_errno("socket", errno);
  const int one = 1;
  sockaddr_storage bound{};
  socklen_t bytes = sizeof bound;
  (void)::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(fd, found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd, kBacklog) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &bytes) != 0) {
    const Error error = error_from_errno("bind", errno);
    ::close(fd);
    return error;
  }
  port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                           : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
  return fd;
}

// A client's connection and its thread.
struct Router::Worker {
  int fd = -1, target = -1;   // target: guarded by the mutex
  std::string peer;
  Key challenge{};
  std::shared_ptr<Handshake> handshake;
  std::thread thread;
  std::atomic<bool> finished{false};
};

struct Router::Shared {
  std::mutex mutex;
  std::list<Worker> workers;
  std::thread accepting;
  std::atomic<bool> stopping{false};
  std::atomic<i64> carried{0};   // connections to a target, also those that come about
  i64 most = 0;
};

namespace {

// One direction: socket -> pipe -> socket.
class Pump {
 public:
  Pump(int from, int to) : from_(from), to_(to) {
    if (::pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) != 0) pipe_[0] = pipe_[1] = -1;
    if (has_pipe()) (void)::fcntl(pipe_[1], F_SETPIPE_SZ, kPipeBytes);
  }
  ~Pump() {
    for (const int fd : pipe_)
      if (fd >= 0) ::close(fd);
  }
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;

  bool has_pipe() const { return pipe_[1] >= 0; }
  bool wants_input() const { return !ended_ && !full_; }
  bool wants_output() const { return held_ > 0; }
  bool over() const { return broken_ || (ended_ && held_ == 0); }
  bool broken() const { return broken_; }
  void advance() {
    constexpr unsigned kFlags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;
    for (int turns = 0; turns < 8 && !broken_; ++turns) {
      const bool got = !ended_ && take(::splice(from_, nullptr, pipe_[1], nullptr, kPipeBytes, kFlags));
      const ssize_t out = held_ > 0 ? ::splice(pipe_[0], nullptr, to_, nullptr, static_cast<size_t>(held_), kFlags) : 0;
      if (out < 0 && errno != EAGAIN && errno != EINTR) broken_ = true;
      held_ -= std::max<ssize_t>(out, 0);
      full_ = full_ && out <= 0;
      if (!got && out <= 0) break;
    }
    if (ended_ && held_ == 0) (void)::shutdown(to_, SHUT_WR);
  }

 private:
  bool take(ssize_t bytes) {
    if (bytes > 0) held_ += bytes;
    ended_ = ended_ || bytes == 0;
    full_ = bytes < 0 && errno == EAGAIN && held_ > 0;
    if (bytes < 0 && errno != EAGAIN && errno != EINTR) broken_ = true;
    return bytes > 0;
  }
  const int from_, to_;
  int pipe_[2] = {-1, -1};
  ssize_t held_ = 0;
  bool ended_ = false, full_ = false, broken_ = false;
};

// A connection to a target, both ways.
class Carried {
 public:
  Carried(int client, int target) : client_(client), target_(target), there_(client, target), back_(target, client) {}
  bool has_pipes() const { return there_.has_pipe() && back_.has_pipe(); }
  void pump() {
    while (!(there_.over() && back_.over()) && !there_.broken() && !back_.broken()) {
      pollfd ready[] = {{client_, 0, 0}, {target_, 0, 0}};
      if (there_.wants_input()) ready[0].events |= POLLIN;
      if (back_.wants_output()) ready[0].events |= POLLOUT;
      if (back_.wants_input()) ready[1].events |= POLLIN;
      if (there_.wants_output()) ready[1].events |= POLLOUT;
      for (pollfd& one : ready)
        if (one.events == 0) one.fd = -1;   // poll() would report only the hang-up, repeatedly
      if (::poll(ready, 2, -1) < 0 && errno != EINTR) return;
      there_.advance();
      back_.advance();
    }
  }

 private:
  const int client_, target_;
  Pump there_, back_;
};

}  // namespace

// The number of connections is limited by the number of descriptors, as others would wait for ever.
Router::Router(const RouterOptions& options)
    : options_(options), refusals_(options.log), reception_(options.reception, refusals_), shared_(std::make_unique<Shared>()) {
  rlimit descriptors{};
  (void)::getrlimit(RLIMIT_NOFILE, &descriptors);
  const i64 left = static_cast<i64>(std::min<rlim_t>(descriptors.rlim_cur, INT32_MAX)) - kOtherDescriptors - options.reception.most;
  shared_->most = std::clamp<i64>(left / kDescriptors, 1, options.most_connections);
}

Result<std::unique_ptr<Router>> Router::start(const RouterOptions& options) {
  std::unique_ptr<Router> router(new Router(options));
  router->port_ = options.port;
  MERCUTIO_LET(router->listener_, listen_at(options.address, router->port_));
  router->wake_ = ::eventfd(0, EFD_CLOEXEC);
  if (router->wake_ < 0) return error_from_errno("eventfd", errno);
  MERCUTIO_LET(router->shared_->accepting, start_thread([r = router.get()] { r->accept_clients(); }));
  return router;
}

Router::~Router() {
  shared_->stopping = true;
  if (wake_ >= 0) (void)::eventfd_write(wake_, 1);
  if (shared_->accepting.joinable()) shared_->accepting.join();
  {
    std::lock_guard guard(shared_->mutex);
    for (Worker& worker : shared_->workers)
      for (const int fd : {worker.fd, worker.target})
        if (fd >= 0) (void)::shutdown(fd, SHUT_RDWR);
  }
  for (Worker& worker : shared_->workers) worker.thread.join();
  for (Worker& worker : shared_->workers) ::close(worker.fd);
  for (const int fd : {listener_, wake_})
    if (fd >= 0) ::close(fd);
}

void Router::log(const std::string& text) const {
  if (options_.log) options_.log(printable(text));
}

void Router::accept_clients() {
  constexpr int kPeriodicWorkMs = 500, kTurnMs = 20;
  while (!shared_->stopping) {
    std::vector<pollfd> ready = {{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
    (void)attempt([&] {
      reception_.add_to(ready);
      return ok_status();
    });
    (void)::poll(ready.data(), ready.size(), reception_.has_waiting() ? kTurnMs : kPeriodicWorkMs);
    if (shared_->stopping) return;
    (void)attempt([&] {
      const i64 now = now_ns();
      reap();
      refusals_.end_period(now);
      reception_.take_events(ready, now);
      if ((ready[0].revents & POLLIN) != 0) receive();
      for (PendingConnection next = reception_.next(now); next.fd >= 0; next = reception_.next(now)) start_handshake(next);
      return ok_status();
    });
  }
}

void Router::reap() {
  std::list<Worker>& workers = shared_->workers;   // valid until this thread has ended
  for (auto at = workers.begin(); at != workers.end();) {
    if (!at->finished) {
      ++at;
      continue;
    }
    at->thread.join();
    ::close(at->fd);
    at = workers.erase(at);
  }
}

// The router sends first. Its message fits into the buffer of any socket.
void Router::receive() {
  constexpr int kAcceptedAtOnce = 64, kWaitMs = 100;
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    PendingConnection connection = accept_from(listener_, now_ns());
    if (connection.fd < 0) {
      const bool no_room = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
      if (!no_room || reception_.close_oldest(now_ns())) return;
      refusals_.say("somebody", "no descriptors are left: raise 'ulimit -n'", now_ns());
      pollfd wake{wake_, POLLIN, 0};
      (void)::poll(&wake, 1, kWaitMs);   // until a connection ends
      return;
    }
    const Result<Key> nonce = make_key();
    if (nonce) connection.challenge = *nonce;
    if (nonce && challenge(connection.fd, *nonce))
      reception_.receive(std::move(connection));
    else
      ::close(connection.fd);
  }
}

void Router::start_handshake(const PendingConnection& connection) {
  Worker& worker = shared_->workers.emplace_back();
  worker.fd = connection.fd;
  worker.peer = connection.peer;
  worker.challenge = connection.challenge;
  worker.handshake = reception_.begin(connection, [fd = connection.fd] { (void)::shutdown(fd, SHUT_RDWR); });
  auto thread = start_thread([this, &worker] { serve(worker); });
  if (thread) {
    worker.thread = std::move(*thread);
    return;
  }
  worker.handshake->over = true;
  refusals_.say(worker.peer, thread.error().what, now_ns());
  ::close(worker.fd);
  shared_->workers.pop_back();
}

void Router::serve(Worker& worker) {
  std::string target;
  std::optional<Carried> carried;
  std::shared_ptr<void> counted;
  const auto reach = [&](const std::string& where, i64 end_ns) -> Result<int> {
    const bool has_room = ++shared_->carried <= shared_->most;
    std::shared_ptr<void> place(nullptr, [this](void*) { --shared_->carried; });
    if (!has_room) return Error{ErrorClass::kIo, "too many connections", EUSERS};
    const size_t space = where.rfind(' ');
    MERCUTIO_LET(const int fd, connect_until({where.substr(0, space), std::atoi(where.c_str() + space + 1)}, end_ns));
    Descriptor owned(fd);
    carried.emplace(worker.fd, fd);
    if (!carried->has_pipes()) return error_from_errno("pipe", EMFILE);
    counted = std::move(place);
    return owned.release();
  };
  const Result<int> there = attempt([&] { return admit(worker.fd, {options_, worker.challenge, reach, true}, target); });
  worker.handshake->over = true;
  if (!there) {
    refusals_.say(worker.peer, there.error().what, now_ns());
  } else {
    const auto set_target = [&](int fd) {
      std::lock_guard guard(shared_->mutex);
      worker.target = fd;
    };
    set_target(*there);
    set_up(worker.fd);
    set_up(*there);
    log(worker.peer + " connected to " + target);
    if (!shared_->stopping) carried->pump();
    set_target(-1);
    ::close(*there);
    carried.reset();
    counted.reset();
    log(worker.peer + " left");
  }
  (void)::shutdown(worker.fd, SHUT_RDWR);
  worker.finished = true;
}

}  // namespace mercutio::remote
