#include "remote/sockets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace mercutio::remote {
namespace {

// From linux/tcp.h 6.15. Without it TCP doubles its retransmission timeout up to two minutes, so a link that was down for 5 s may
// continue 10 s later.
constexpr int kRtoMaxMs = 44;
constexpr int kLongestWaitMs = 2'000;   // longer than any round trip
constexpr int kIdleS = 60;

}  // namespace

void set_up(int fd) {
  const int one = 1;
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  (void)::setsockopt(fd, IPPROTO_TCP, kRtoMaxMs, &kLongestWaitMs, sizeof kLongestWaitMs);
  (void)::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kIdleS, sizeof kIdleS);
}

}  // namespace mercutio::remote
