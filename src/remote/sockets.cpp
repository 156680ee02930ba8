#include "remote/sockets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/trace.h"
#include "remote/descriptor.h"

namespace mercutio::remote {
namespace {

// From linux/tcp.h 6.15. Without it TCP doubles its retransmission timeout up to two minutes, so a link that was down for 5 s may
// continue 10 s later.
constexpr int kRtoMaxMs = 44;
constexpr int kLongestWaitMs = 2'000;   // longer than any round trip
constexpr int kIdleS = 60;

// This machine has no address of that family, or no route.
bool has_no_way(const Error& error) {
  return error.sys_errno == ENETUNREACH || error.sys_errno == EADDRNOTAVAIL || error.sys_errno == EAFNOSUPPORT;
}

}  // namespace

void set_up(int fd) {
  const int one = 1;
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  (void)::setsockopt(fd, IPPROTO_TCP, kRtoMaxMs, &kLongestWaitMs, sizeof kLongestWaitMs);
  (void)::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kIdleS, sizeof kIdleS);
}

Result<Addresses> Addresses::of(const Endpoint& host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int wrong = ::getaddrinfo(host.address.c_str(), std::to_string(host.port).c_str(), &hints, &found);
  if (wrong != 0) return Error{ErrorClass::kIo, host.address + ": " + ::gai_strerror(wrong), EHOSTUNREACH};
  Addresses addresses;
  addresses.list_ = std::shared_ptr<addrinfo>(found, &::freeaddrinfo);
  for (const addrinfo* one = found; one; one = one->ai_next) addresses.all_.push_back(one);
  return addresses;
}

Result<int> Addresses::connect(size_t which) const {
  const addrinfo& to = *all_[which];
  Descriptor fd(::socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return error_from_errno("socket", errno);
  set_up(fd.get());   // also for connections through a router
  if (::connect(fd.get(), to.ai_addr, to.ai_addrlen) != 0 && errno != EINPROGRESS) return error_from_errno("connect", errno);
  return fd.release();
}

bool wait_for_event(int fd, short events, i64 end_ns) {
  pollfd ready{fd, events, 0};
  for (;;) {
    const i64 left_ms = (end_ns - now_ns()) / 1'000'000;
    const int found = left_ms > 0 ? ::poll(&ready, 1, static_cast<int>(left_ms)) : 0;
    if (found >= 0 || errno != EINTR) return found > 0;
  }
}

Status connection_of(int fd) {
  int failed = 0;
  socklen_t bytes = sizeof failed;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &bytes) != 0) failed = errno;
  return failed == 0 ? ok_status() : Status(error_from_errno("connect", failed));
}

Error error_of_attempts(const std::optional<Error>& earlier, const Error& now) {
  const bool tells_more = !earlier || has_no_way(*earlier) || (earlier->sys_errno == ECONNREFUSED && !has_no_way(now));
  return tells_more ? now : *earlier;
}

Result<int> connect_until(const Endpoint& host, i64 end_ns) {
  MERCUTIO_LET(const Addresses addresses, Addresses::of(host));
  std::optional<Error> failure;
  for (size_t i = 0; i < addresses.count(); ++i) {
    Result<int> connecting = addresses.connect(i);
    if (connecting) {
      Descriptor fd(*connecting);
      const i64 now = now_ns(), left_ns = std::max<i64>(0, end_ns - now);
      const bool in_time = wait_for_event(fd.get(), POLLOUT, now + left_ns / static_cast<i64>(addresses.count() - i));
      const Status connected = in_time ? connection_of(fd.get()) : Status(error_from_errno("connect", ETIMEDOUT));
      if (connected) return fd.release();
      connecting = connected.error();
    }
    failure = error_of_attempts(failure, connecting.error());
  }
  return *failure;
}

}  // namespace mercutio::remote
