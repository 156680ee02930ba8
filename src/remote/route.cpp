// Cost: a byte is moved by splice(2) from socket to socket, through a pipe, and never seen by this process.
#include "remote/route.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <list>
#include <mutex>

#include "base/trace.h"
#include "remote/sockets.h"
#include "base/threads.h"

namespace mercutio::remote {
namespace {

constexpr char kMagic[8] = {'m', 'e', 'r', 'c', 'r', 't', '0', '1'};
constexpr size_t kNonceBytes = 32, kProofBytes = 32, kLengthBytes = 4;
constexpr size_t kMostTextBytes = 512;
constexpr char kOfClient[] = "mercutio route 1 client", kOfRouter[] = "mercutio route 1 router";
constexpr int kPipeBytes = 1 << 20;

enum class Verdict : unsigned char { kConnected = 0, kWrongKey = 1, kNotAllowed = 2, kUnreachable = 3, kRefused = 4 };

void append(Buffer& out, const void* data, size_t bytes) {
  const auto* const from = static_cast<const std::byte*>(data);
  out.insert(out.end(), from, from + bytes);
}

void append_text(Buffer& out, const std::string& text) {
  const std::uint32_t bytes = htole32(static_cast<std::uint32_t>(text.size()));
  append(out, &bytes, sizeof bytes);
  append(out, text.data(), text.size());
}

Key proof_of(const Key& key, const char* who, ConstBytes said) {
  Buffer all;
  append(all, who, std::strlen(who));
  append(all, said.data(), said.size());
  Key proof{};
  unsigned bytes = kProofBytes;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(all.data()), all.size(), proof.data(), &bytes);
  return proof;
}

// What a proof is about: both random numbers, then what is said.
Buffer transcript(const Key& router, const Key& client, ConstBytes said) {
  Buffer all;
  append(all, router.data(), router.size());
  append(all, client.data(), client.size());
  append(all, said.data(), said.size());
  return all;
}

bool same(const Key& proof, ConstBytes given) {
  return given.size() == proof.size() && CRYPTO_memcmp(proof.data(), given.data(), proof.size()) == 0;
}

size_t length_at(const Buffer& in, size_t at) {
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, in.data() + at, sizeof bytes);
  return le32toh(bytes);
}

Error not_a_router() {
  return Error{ErrorClass::kIo, "no Mercutio router answers there: see whether 'mercutio route' still runs on the gateway", EPROTO};
}

}  // namespace

RouteRequest::RouteRequest(const Hop& router, const Endpoint& target)
    : router_(router), target_(target.address + " " + std::to_string(target.port)) {}

RouteRequest::RouteRequest(const Hop& router, const Endpoint& target, const Key& nonce) : RouteRequest(router, target) {
  given_ = nonce;
}

// Reads until `bytes` are there, not one more: what follows is the target's.
Result<bool> RouteRequest::fill(int fd, size_t bytes) {
  while (in_.size() < bytes) {
    std::byte chunk[256];
    const ssize_t got = ::recv(fd, chunk, std::min(sizeof chunk, bytes - in_.size()), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return false;
    if (got < 0) return error_from_errno("router", errno);
    if (got == 0) return Error{ErrorClass::kIo, "the router closed the connection", ECONNRESET};
    append(in_, chunk, static_cast<size_t>(got));
  }
  return true;
}

Status RouteRequest::take_challenge() {
  if (std::memcmp(in_.data(), kMagic, sizeof kMagic) != 0) return not_a_router();
  std::memcpy(theirs_.data(), in_.data() + sizeof kMagic, kNonceBytes);
  in_.clear();
  MERCUTIO_LET(mine_, given_ ? Result<Key>(*given_) : make_key());
  Buffer said;
  append_text(said, target_);
  const Key proof = proof_of(router_.key, kOfClient, transcript(theirs_, mine_, said));
  append(out_, kMagic, sizeof kMagic);
  append(out_, mine_.data(), mine_.size());
  append(out_, said.data(), said.size());
  append(out_, proof.data(), proof.size());
  stage_ = Stage::kAsking;
  return ok_status();
}

Status RouteRequest::take_verdict() {
  const ConstBytes said = ConstBytes(in_).first(in_.size() - kProofBytes);
  const bool proven = same(proof_of(router_.key, kOfRouter, transcript(theirs_, mine_, said)), ConstBytes(in_).last(kProofBytes));
  const auto verdict = static_cast<Verdict>(in_[0]);
  const std::string text(reinterpret_cast<const char*>(in_.data()) + 1 + kLengthBytes, said.size() - 1 - kLengthBytes);
  const std::string name = "the router " + router_.at.address + " port " + std::to_string(router_.at.port);
  if (verdict == Verdict::kWrongKey || !proven)
    return Error{ErrorClass::kAccess, name + " has another key: give 'mercutio connect --router' the key file it was started with"};
  if (verdict == Verdict::kNotAllowed)
    return Error{ErrorClass::kAccess, name + " may not connect to " + target_ + ": start it with --to for that address"};
  if (verdict != Verdict::kConnected) return Error{ErrorClass::kIo, name + " can't reach " + target_ + ": " + text, verdict == Verdict::kRefused ? ECONNREFUSED : EHOSTUNREACH};
  stage_ = Stage::kDone;
  return ok_status();
}

Result<Wants> RouteRequest::advance(int fd) {
  if (stage_ == Stage::kChallenge) {
    MERCUTIO_LET(const bool there, fill(fd, sizeof kMagic + kNonceBytes));
    if (!there) return Wants::kRead;
    MERCUTIO_TRY(take_challenge());
  }
  while (stage_ == Stage::kAsking) {
    const ssize_t done = ::send(fd, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (done < 0 && errno == EAGAIN) return Wants::kWrite;
    if (done < 0 && errno != EINTR) return error_from_errno("router", errno);
    sent_ += static_cast<size_t>(std::max<ssize_t>(done, 0));
    if (sent_ == out_.size()) stage_ = Stage::kVerdict;
  }
  if (stage_ == Stage::kDone) return Wants::kNothing;
  MERCUTIO_LET(const bool head, fill(fd, 1 + kLengthBytes));
  if (!head) return Wants::kRead;
  const size_t text = length_at(in_, 1);
  if (text > kMostTextBytes) return not_a_router();
  MERCUTIO_LET(const bool whole, fill(fd, 1 + kLengthBytes + text + kProofBytes));
  if (!whole) return Wants::kRead;
  MERCUTIO_TRY(take_verdict());
  return Wants::kNothing;
}

Result<int> listen_at(const std::string& address, int& port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  const int wrong = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (wrong != 0)
    return Error{ErrorClass::kArg, "can't listen on '" + address + "': " + ::gai_strerror(wrong) +
                                       "; write a numeric address of this machine, for example 127.0.0.1:0"};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return error_from_errno("socket", errno);
  const int one = 1;
  sockaddr_storage bound{};
  socklen_t bytes = sizeof bound;
  (void)::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(fd, found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd, 64) != 0 ||
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
  std::thread thread;
  std::atomic<bool> finished{false};
};

struct Router::Shared {
  std::mutex mutex;
  std::list<Worker> workers;
  std::thread accepting;
  std::atomic<bool> stopping{false};
};

namespace {

// Blocking calls with an end, for the short talk before the copying.
bool talk(int fd, short events, i64 end_ns) {
  pollfd ready{fd, events, 0};
  const i64 left_ms = (end_ns - now_ns()) / 1'000'000;
  return left_ms > 0 && ::poll(&ready, 1, static_cast<int>(left_ms)) > 0;
}

bool receive_all(int fd, void* into, size_t bytes, i64 end_ns) {
  for (size_t done = 0; done < bytes;) {
    if (!talk(fd, POLLIN, end_ns)) return false;
    const ssize_t got = ::recv(fd, static_cast<char*>(into) + done, bytes - done, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
    done += static_cast<size_t>(std::max<ssize_t>(got, 0));
  }
  return true;
}

bool send_all(int fd, const Buffer& bytes, i64 end_ns) {
  for (size_t done = 0; done < bytes.size();) {
    if (!talk(fd, POLLOUT, end_ns)) return false;
    const ssize_t sent = ::send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
    done += static_cast<size_t>(std::max<ssize_t>(sent, 0));
  }
  return true;
}

Result<int> connect_to_target(const std::string& target, i64 end_ns) {
  const size_t space = target.rfind(' ');
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int wrong = ::getaddrinfo(target.substr(0, space).c_str(), target.substr(space + 1).c_str(), &hints, &found);
  if (wrong != 0) return Error{ErrorClass::kIo, ::gai_strerror(wrong), EHOSTUNREACH};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return error_from_errno("socket", errno);
  int failed = ::connect(fd, found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
  socklen_t bytes = sizeof failed;
  if (failed == EINPROGRESS && !talk(fd, POLLOUT, end_ns)) failed = ETIMEDOUT;
  if (failed == EINPROGRESS && ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &bytes) != 0) failed = errno;
  if (failed == 0) return fd;
  ::close(fd);
  return error_from_errno("connect", failed);
}

// One direction: socket -> pipe -> socket.
class Pump {
 public:
  Pump(int from, int to) : from_(from), to_(to) {
    if (::pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) != 0) pipe_[0] = pipe_[1] = -1;
    if (pipe_[1] >= 0) (void)::fcntl(pipe_[1], F_SETPIPE_SZ, kPipeBytes);
  }
  ~Pump() {
    for (const int fd : pipe_)
      if (fd >= 0) ::close(fd);
  }
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;

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

void pump_both(int client, int target) {
  Pump there(client, target), back(target, client);
  while (!(there.over() && back.over()) && !there.broken() && !back.broken()) {
    pollfd ready[] = {{client, 0, 0}, {target, 0, 0}};
    if (there.wants_input()) ready[0].events |= POLLIN;
    if (back.wants_output()) ready[0].events |= POLLOUT;
    if (back.wants_input()) ready[1].events |= POLLIN;
    if (there.wants_output()) ready[1].events |= POLLOUT;
    for (pollfd& one : ready)
      if (one.events == 0) one.fd = -1;   // only an end would show, again and again
    if (::poll(ready, 2, -1) < 0 && errno != EINTR) return;
    there.advance();
    back.advance();
  }
}

std::string peer_of(const sockaddr_storage& address, socklen_t bytes) {
  char host[128] = "?", port[16] = "?";
  (void)::getnameinfo(reinterpret_cast<const sockaddr*>(&address), bytes, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  return std::string(host) + " " + port;
}

}  // namespace

Router::Router(const RouterOptions& options) : options_(options), shared_(std::make_unique<Shared>()) {}

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
  if (!options_.log) return;
  std::string line = text;
  std::replace_if(line.begin(), line.end(), [](char c) { return (c >= 0 && c < ' ') || c == 127; }, '?');
  options_.log(line);
}

void Router::accept_clients() {
  constexpr int kHousePeriodMs = 500;
  while (!shared_->stopping) {
    pollfd ready[] = {{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
    (void)::poll(ready, 2, kHousePeriodMs);
    std::list<Worker>& workers = shared_->workers;   // this thread's until it has ended
    for (auto at = workers.begin(); at != workers.end();) {
      if (!at->finished) {
        ++at;
        continue;
      }
      at->thread.join();
      ::close(at->fd);
      at = workers.erase(at);
    }
    if (shared_->stopping || (ready[0].revents & POLLIN) == 0) continue;
    sockaddr_storage address{};
    socklen_t bytes = sizeof address;
    const int fd = ::accept4(listener_, reinterpret_cast<sockaddr*>(&address), &bytes, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) (void)::poll(&ready[1], 1, kHousePeriodMs);
      continue;
    }
    if (static_cast<i64>(workers.size()) >= options_.most_connections) {
      log(peer_of(address, bytes) + " refused: too many connections");
      ::close(fd);
      continue;
    }
    Worker& worker = workers.emplace_back();
    worker.fd = fd;
    worker.peer = peer_of(address, bytes);
    auto thread = start_thread([this, &worker] { serve(worker); });
    if (thread) {
      worker.thread = std::move(*thread);
      continue;
    }
    log(worker.peer + " refused: " + thread.error().what);
    ::close(worker.fd);
    workers.pop_back();
  }
}

namespace {

bool allowed(const RouterOptions& options, const std::string& target) {
  const size_t space = target.rfind(' ');
  if (space == std::string::npos) return false;
  const std::string address = target.substr(0, space), port = target.substr(space + 1);
  return std::any_of(options.targets.begin(), options.targets.end(),
                     [&](const std::string& known) { return known == address + ":" + port || known == address + ":*"; });
}

}  // namespace

Result<int> admit(int client, const Admission& by, std::string& target) {
  const i64 end_ns = now_ns() + by.options.handshake_ms * 1'000'000;
  const Key& mine = by.nonce;
  Buffer challenge;
  append(challenge, kMagic, sizeof kMagic);
  append(challenge, mine.data(), mine.size());
  Buffer head(sizeof kMagic + kNonceBytes + kLengthBytes);
  if (!send_all(client, challenge, end_ns) || !receive_all(client, head.data(), head.size(), end_ns) ||
      std::memcmp(head.data(), kMagic, sizeof kMagic) != 0)
    return Error{ErrorClass::kIo, "it does not ask for a route"};
  const size_t text = length_at(head, sizeof kMagic + kNonceBytes);
  Buffer rest(text > kMostTextBytes ? 0 : text + kProofBytes);
  if (rest.empty() || !receive_all(client, rest.data(), rest.size(), end_ns)) return Error{ErrorClass::kIo, "it does not ask for a route"};
  Key theirs{};
  std::memcpy(theirs.data(), head.data() + sizeof kMagic, kNonceBytes);
  target.assign(reinterpret_cast<const char*>(rest.data()), text);
  Buffer said;
  append_text(said, target);
  Result<int> fd = Error{ErrorClass::kAccess, "not the router's key"};
  Verdict verdict = Verdict::kWrongKey;
  if (same(proof_of(by.options.key, kOfClient, transcript(mine, theirs, said)), ConstBytes(rest).last(kProofBytes))) {
    verdict = allowed(by.options, target) ? Verdict::kUnreachable : Verdict::kNotAllowed;
    if (verdict == Verdict::kNotAllowed) fd = Error{ErrorClass::kAccess, "no --to allows " + target};
    if (verdict == Verdict::kUnreachable) fd = by.connect(target, end_ns);
    if (fd) verdict = Verdict::kConnected;
    if (verdict == Verdict::kUnreachable && fd.error().sys_errno == ECONNREFUSED) verdict = Verdict::kRefused;
  }
  Buffer answer{static_cast<std::byte>(verdict)};
  append_text(answer, fd ? "" : fd.error().what.substr(0, kMostTextBytes));
  const Key proof = proof_of(by.options.key, kOfRouter, transcript(mine, theirs, answer));
  append(answer, proof.data(), proof.size());
  if (!send_all(client, answer, end_ns) && fd) {
    ::close(*fd);
    return Error{ErrorClass::kIo, "it left", ECONNRESET};
  }
  return fd;
}

void Router::serve(Worker& worker) {
  std::string target;
  const Result<Key> nonce = make_key();
  const Result<int> there = nonce ? admit(worker.fd, {options_, *nonce, connect_to_target}, target) : Result<int>(nonce.error());
  if (!there) {
    log(worker.peer + " refused: " + there.error().what);
  } else {
    const auto set_target = [&](int fd) {
      std::lock_guard guard(shared_->mutex);
      worker.target = fd;
    };
    set_target(*there);
    set_up(worker.fd);
    set_up(*there);
    log(worker.peer + " connected to " + target);
    if (!shared_->stopping) pump_both(worker.fd, *there);
    set_target(-1);
    ::close(*there);
    log(worker.peer + " left");
  }
  (void)::shutdown(worker.fd, SHUT_RDWR);
  worker.finished = true;
}

}  // namespace mercutio::remote
