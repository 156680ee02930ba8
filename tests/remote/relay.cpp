#include "relay.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace mercutio::remote {
namespace {

constexpr int kTickMs = 5;

sockaddr_in here(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

int connect_to(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = here(port);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

int listen_here(int& port) {
  const int fd = keep_port(port);
  (void)::listen(fd, 16);
  return fd;
}

int keep_port(int& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = here(0);
  socklen_t bytes = sizeof address;
  (void)::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  (void)::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes);
  port = ntohs(address.sin_port);
  return fd;
}

// Linux drops what comes when the queue is full, which has room for one.
std::vector<std::unique_ptr<Descriptor>> keep_silent_port(int& port) {
  std::vector<std::unique_ptr<Descriptor>> kept;
  kept.push_back(std::make_unique<Descriptor>(keep_port(port)));
  (void)::listen(kept[0]->get(), 0);
  kept.push_back(std::make_unique<Descriptor>(connect_to(port)));
  return kept;
}

Relay::Relay(int target_port) : target_port_(target_port) {
  listener_ = listen_here(port_);
  accepting_ = std::thread([this] { accept_streams(); });
}

Relay::~Relay() {
  stopping_ = true;
  accepting_.join();
  for (std::thread& thread : threads_) thread.join();
  ::close(listener_);
}

void Relay::cut() {
  ++cuts_;
}

std::string Relay::first_client_bytes() {
  std::lock_guard guard(mutex_);
  return first_bytes_;
}

void Relay::accept_streams() {
  while (!stopping_) {
    pollfd ready{listener_, POLLIN, 0};
    if (::poll(&ready, 1, kTickMs) <= 0) continue;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    if (refusing_)
      ::close(client), ++refused_;
    else
      threads_.emplace_back([this, client] { pass(client); });
  }
}

// Whoever doesn't take it must not keep a cut, or the end, from happening.
bool Relay::send_all(int fd, const char* bytes, ssize_t count, int cuts) {
  for (ssize_t sent = 0; sent < count;) {
    const ssize_t more = ::send(fd, bytes + sent, static_cast<size_t>(count - sent), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (more <= 0 && errno != EAGAIN) return false;
    if (stopping_ || cuts != cuts_) return false;
    pollfd room{fd, POLLOUT, 0};
    if (more <= 0) (void)::poll(&room, 1, kTickMs);
    sent += std::max<ssize_t>(0, more);
  }
  return true;
}

void Relay::pass(int client) {
  const int number = accepted_++, cuts = cuts_;
  const int server = connect_to(target_port_), fds[] = {client, server};
  std::array<char, 1 << 16> buffer;
  bool open = server >= 0;
  while (open && !stopping_ && cuts == cuts_) {
    const bool silent = silent_ || number < frozen_;
    pollfd ready[] = {{silent ? -1 : client, POLLIN, 0}, {silent || holding_ ? -1 : server, POLLIN, 0}};
    (void)::poll(ready, 2, kTickMs);
    if (silent_ && !silent) continue;   // what comes from now on stays
    for (int side = 0; side < 2 && open; ++side) {
      if ((ready[side].revents & POLLIN) == 0) continue;
      const ssize_t got = ::recv(fds[side], buffer.data(), buffer.size(), 0);
      open = got > 0;
      if (open && damaging_.exchange(false)) buffer[static_cast<size_t>(got) / 2] ^= 4;
      open = open && send_all(fds[1 - side], buffer.data(), got, cuts);
      bytes_[side] += got > 0 ? got : 0;
      if (side != 0 || number != 0 || got <= 0) continue;
      std::lock_guard guard(mutex_);
      first_bytes_.append(buffer.data(), static_cast<size_t>(got));
    }
  }
  ::close(client);
  if (server >= 0) ::close(server);
}

}  // namespace mercutio::remote
