// Handles connections that have not proved a key yet, of which anybody can make any number.
//
// A connection that has sent nothing uses a descriptor but no thread. It waits for its first byte, and then for its handshake. The
// numbers of connections in both states are limited, and so is the share of one address. Beyond the limits the oldest silent
// connection is closed, first one of the same address, and also handshakes that take longer than an honest client needs. Cost: one
// poll of at most `most` descriptors per step.
#pragma once

#include <poll.h>

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "base/types.h"
#include "remote/tls.h"

namespace mercutio::remote {

// Log lines about refused connections: a few per period, then only their number.
class RefusalLog {
 public:
  explicit RefusalLog(std::function<void(const std::string&)> log) : log_(std::move(log)) {}
  void say(const std::string& peer, const std::string& why, i64 now);
  void end_period(i64 now);   // must be called regularly

 private:
  static constexpr i64 kMostLines = 20, kPeriodNs = 10'000'000'000;
  const std::function<void(const std::string&)> log_;
  std::mutex mutex_;
  i64 since_ns_ MERCUTIO_GUARDED_BY(mutex_) = 0, lines_ MERCUTIO_GUARDED_BY(mutex_) = 0, left_out_ MERCUTIO_GUARDED_BY(mutex_) = 0;
};

struct PendingConnection {
  int fd = -1;
  std::string address, peer;   // "10.0.0.7", "10.0.0.7 40312"
  i64 since_ns = 0;
  bool spoke = false;          // it has sent something or closed the connection
  Key challenge{};             // random number of a router, which sends first
};

// A handshake in progress. It ends when the client has proved the key or has disconnected.
struct Handshake {
  std::string address;
  i64 since_ns = 0;
  std::function<void()> cut;
  std::atomic<bool> over{false};
};

class Reception {
 public:
  struct Limits {
    i64 most = 256, most_of_address = 64;      // limits for the connections that wait here
    i64 most_handshakes = 256, most_handshakes_of_address = 64;
    i64 first_byte_ms = 5'000;
    i64 short_handshake_ms = 1'000;                 // time in which an honest client completes the handshake; later it may be closed in favour of others
  };
  Reception(const Limits& limits, RefusalLog& refusals) : limits_(limits), refusals_(refusals) {}
  ~Reception();

  void receive(PendingConnection connection);             // may refuse it, or another one in its favour
  bool has_waiting() const;                    // connections wait for a handshake, so next() must be called soon
  bool close_oldest(i64 now);                  // no descriptors are left; false: there is none to close
  void add_to(std::vector<pollfd>& polled) const;
  void take_events(const std::vector<pollfd>& polled, i64 now);
  // The next connection to begin a handshake with. The caller owns its descriptor. Fd -1: none.
  PendingConnection next(i64 now);
  std::shared_ptr<Handshake> begin(const PendingConnection& connection, std::function<void()> cut);

 private:
  using Waiting = std::list<PendingConnection>;
  Waiting::iterator oldest_silent(const std::string& address);
  void refuse(Waiting::iterator who, const char* why, i64 now);
  bool may_begin(const std::string& address, i64 now);

  const Limits limits_;
  RefusalLog& refusals_;
  Waiting waiting_;                            // oldest first
  std::list<std::shared_ptr<Handshake>> handshakes_;     // oldest first
};

// Accepts a connection from a nonblocking listening socket. Fd -1: none, and errno has the reason.
PendingConnection accept_from(int listener, i64 now);

}  // namespace mercutio::remote
