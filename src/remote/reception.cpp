#include "remote/reception.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/trace.h"
#include "remote/printable.h"

namespace mercutio::remote {

void RefusalLog::say(const std::string& peer, const std::string& why, i64 now) {
  if (!log_) return;
  end_period(now);
  {
    std::lock_guard guard(mutex_);
    if (lines_ == 0) since_ns_ = now;
    if (++lines_ > kMostLines) {
      ++left_out_;
      return;
    }
  }
  log_(peer + " refused: " + printable(why));
}

void RefusalLog::end_period(i64 now) {
  i64 left_out = 0;
  {
    std::lock_guard guard(mutex_);
    if (now - since_ns_ <= kPeriodNs) return;
    left_out = std::exchange(left_out_, 0);
    lines_ = 0;
  }
  if (left_out > 0 && log_) log_(std::to_string(left_out) + " more were refused");
}

Reception::~Reception() {
  for (const PendingConnection& connection : waiting_) ::close(connection.fd);
}

Reception::Waiting::iterator Reception::oldest_silent(const std::string& address) {
  return std::find_if(waiting_.begin(), waiting_.end(), [&](const PendingConnection& n) { return !n.spoke && (address.empty() || n.address == address); });
}

void Reception::refuse(Waiting::iterator who, const char* why, i64 now) {
  ::close(who->fd);
  const std::string peer = who->peer;
  waiting_.erase(who);
  refusals_.say(peer, why, now);
}

void Reception::receive(PendingConnection connection) {
  const i64 now = connection.since_ns;
  const auto of_address = std::count_if(waiting_.begin(), waiting_.end(), [&](const PendingConnection& n) { return n.address == connection.address; });
  const bool address_full = of_address >= limits_.most_of_address;
  waiting_.push_back(std::move(connection));
  if (!address_full && static_cast<i64>(waiting_.size()) <= limits_.most) return;
  const auto silent = oldest_silent(address_full ? waiting_.back().address : "");
  refuse(silent != waiting_.end() ? silent : std::prev(waiting_.end()), "too many connections that have not shown a key", now);
}

bool Reception::has_waiting() const {
  return std::any_of(waiting_.begin(), waiting_.end(), [](const PendingConnection& n) { return n.spoke; });
}

bool Reception::close_oldest(i64 now) {
  if (waiting_.empty()) return false;
  const auto silent = oldest_silent("");
  refuse(silent != waiting_.end() ? silent : waiting_.begin(), "no descriptors are left: raise 'ulimit -n'", now);
  return true;
}

void Reception::add_to(std::vector<pollfd>& polled) const {
  for (const PendingConnection& connection : waiting_)
    if (!connection.spoke) polled.push_back({connection.fd, POLLIN, 0});
}

void Reception::take_events(const std::vector<pollfd>& polled, i64 now) {
  auto one = polled.begin();   // in the order of add_to()
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto next = std::next(at);
    if (!at->spoke) one = std::find_if(one, polled.end(), [&](const pollfd& p) { return p.fd == at->fd; });
    if (!at->spoke && one != polled.end() && one->revents != 0) at->spoke = true;
    if (!at->spoke && now - at->since_ns > limits_.first_byte_ms * 1'000'000) refuse(at, "it said nothing", now);
    at = next;
  }
}

bool Reception::may_begin(const std::string& address, i64 now) {
  std::erase_if(handshakes_, [](const std::shared_ptr<Handshake>& handshake) { return handshake->over.load(); });
  const auto of_address = std::count_if(handshakes_.begin(), handshakes_.end(), [&](const auto& handshake) { return handshake->address == address; });
  const bool address_full = of_address >= limits_.most_handshakes_of_address;
  if (!address_full && static_cast<i64>(handshakes_.size()) < limits_.most_handshakes) return true;
  const auto slow = std::find_if(handshakes_.begin(), handshakes_.end(), [&](const auto& handshake) {
    return (!address_full || handshake->address == address) && now - handshake->since_ns > limits_.short_handshake_ms * 1'000'000;
  });
  if (slow == handshakes_.end()) return false;
  (*slow)->cut();
  handshakes_.erase(slow);
  return true;
}

PendingConnection Reception::next(i64 now) {
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    if (!at->spoke || !may_begin(at->address, now)) continue;
    PendingConnection found = std::move(*at);
    waiting_.erase(at);
    return found;
  }
  return {};
}

std::shared_ptr<Handshake> Reception::begin(const PendingConnection& connection, std::function<void()> cut) {
  auto handshake = std::make_shared<Handshake>();
  handshake->address = connection.address;
  handshake->since_ns = now_ns();
  handshake->cut = std::move(cut);
  handshakes_.push_back(handshake);
  return handshake;
}

PendingConnection accept_from(int listener, i64 now) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof address;
  PendingConnection connection;
  connection.fd = ::accept4(listener, reinterpret_cast<sockaddr*>(&address), &bytes, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection.fd < 0) return connection;
  char host[128] = "?", port[16] = "?";
  (void)::getnameinfo(reinterpret_cast<const sockaddr*>(&address), bytes, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  connection.address = host;
  connection.peer = std::string(host) + " " + port;
  connection.since_ns = now;
  return connection;
}

}  // namespace mercutio::remote
