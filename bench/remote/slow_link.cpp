#include "slow_link.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <deque>
#include <vector>

#include "base/threads.h"
#include "base/trace.h"
#include "remote/sockets.h"

namespace mercutio::remote {
namespace {

constexpr i64 kHeldBytes = 4 * MiB, kAtOnce = 256 * KiB;

struct Queue {
  struct Chunk {
    i64 due_ns;
    std::vector<char> bytes;
    size_t sent = 0;
  };
  std::deque<Chunk> chunks;
  i64 bytes = 0;
  bool ended = false;   // nothing more comes into it

  bool is_due(i64 now) const { return !chunks.empty() && chunks.front().due_ns <= now; }
  bool send_to(int fd);
};

// What is due now. False: nobody takes it any more.
bool Queue::send_to(int fd) {
  while (is_due(now_ns())) {
    Chunk& chunk = chunks.front();
    const ssize_t sent = ::send(fd, chunk.bytes.data() + chunk.sent, chunk.bytes.size() - chunk.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent <= 0) return errno == EAGAIN;
    chunk.sent += static_cast<size_t>(sent);
    bytes -= sent;
    if (chunk.sent == chunk.bytes.size()) chunks.pop_front();
  }
  return true;
}

}  // namespace

void SlowLink::set(i64 round_trip_ms, i64 mb_per_s) {
  delay_ns_ = round_trip_ms * 500'000;
  bytes_per_s_ = mb_per_s * 1'000'000;
}

i64 SlowLink::carried() {
  std::lock_guard guard(mutex_);
  return carried_;
}

i64 SlowLink::due(int way, i64 bytes) {
  std::lock_guard guard(mutex_);
  carried_ += bytes;
  free_ns_[way] = std::max(free_ns_[way], now_ns());
  if (bytes_per_s_ > 0) free_ns_[way] += bytes * 1'000'000'000 / bytes_per_s_;
  return free_ns_[way] + delay_ns_;
}

// Both ways of one stream, until both ends have closed it, or one of them takes nothing any more.
void SlowLink::pass(int client, int server) {
  const int fds[] = {client, server};
  Queue queues[2];   // towards the server, towards the client
  const i64 most = 2 * std::max<i64>(bytes_per_s_, 1'000'000'000) * delay_ns_ / 1'000'000'000 + kHeldBytes;
  std::vector<char> bytes(kAtOnce);
  for (bool open = true; open && !(queues[0].ended && queues[1].ended && queues[0].chunks.empty() && queues[1].chunks.empty());) {
    pollfd ready[2];
    i64 wait_ns = 50'000'000;
    for (int side = 0; side < 2; ++side) {
      const Queue& out = queues[1 - side];
      const i64 left_ns = out.chunks.empty() ? wait_ns : out.chunks.front().due_ns - now_ns();
      const bool reads = !queues[side].ended && queues[side].bytes < most;
      ready[side] = {reads || left_ns <= 0 ? fds[side] : -1, static_cast<short>((reads ? POLLIN : 0) | (left_ns <= 0 ? POLLOUT : 0)), 0};
      if (left_ns > 0) wait_ns = std::min(wait_ns, left_ns);
    }
    const timespec timeout{0, static_cast<long>(wait_ns)};
    (void)::ppoll(ready, 2, &timeout, nullptr);
    for (int side = 0; side < 2 && open; ++side) {
      if (!queues[side].ended && (ready[side].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
        const ssize_t got = ::recv(fds[side], bytes.data(), bytes.size(), MSG_DONTWAIT);
        queues[side].ended = got == 0 || (got < 0 && errno != EAGAIN);
        if (got > 0) {
          queues[side].bytes += got;
          queues[side].chunks.push_back({due(side, got), {bytes.data(), bytes.data() + got}});
        }
      }
      Queue& out = queues[1 - side];
      open = out.send_to(fds[side]);
      if (out.ended && out.chunks.empty()) (void)::shutdown(fds[side], SHUT_WR);
    }
  }
  ::close(client);
  ::close(server);
}

Result<int> SlowLink::leads_to(const std::string& address, const Endpoint& target) {
  int port = 0;
  MERCUTIO_LET(const int listener, listen_at(address, port));
  auto accepting = start_thread([this, listener, target] {
    for (;;) {
      pollfd ready{listener, POLLIN, 0};
      (void)::poll(&ready, 1, -1);
      const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (client < 0) continue;
      set_up(client);
      const Result<int> server = connect_until(target, now_ns() + 10'000'000'000);
      auto thread = server ? start_thread([this, client, fd = *server] { pass(client, fd); }) : Result<std::thread>(server.error());
      if (thread)
        thread->detach();
      else
        ::close(client);
    }
  });
  if (!accepting) return accepting.error();
  accepting->detach();
  return port;
}

}  // namespace mercutio::remote
