// What a listening program does with connections before they have shown a key: anybody can make any number of them.
//
// A connection that has said nothing costs a descriptor and no thread. It waits here for its first byte, and then for its turn to
// be talked to; both have limits, of which one address may use a part. Beyond them the oldest silent connection is closed, that of
// the same address first, and whoever talks for longer than others need. Cost: one poll of at most `most` descriptors a turn.
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

// Lines about connections that were refused: a few a period, then only their number.
class RefusalLog {
 public:
  explicit RefusalLog(std::function<void(const std::string&)> log) : log_(std::move(log)) {}
  void say(const std::string& peer, const std::string& why, i64 now);
  void end_period(i64 now);   // from time to time

 private:
  static constexpr i64 kMostLines = 20, kPeriodNs = 10'000'000'000;
  const std::function<void(const std::string&)> log_;
  std::mutex mutex_;
  i64 since_ns_ MERCUTIO_GUARDED_BY(mutex_) = 0, lines_ MERCUTIO_GUARDED_BY(mutex_) = 0, left_out_ MERCUTIO_GUARDED_BY(mutex_) = 0;
};

struct Newcomer {
  int fd = -1;
  std::string address, peer;   // "10.0.0.7", "10.0.0.7 40312"
  i64 since_ns = 0;
  bool spoke = false;          // it said something, or is gone
  Key challenge{};             // a router's, which speaks first
};

// One that is talked to. It is over when it has shown the key or has left.
struct Talk {
  std::string address;
  i64 since_ns = 0;
  std::function<void()> cut;
  std::atomic<bool> over{false};
};

class Reception {
 public:
  struct Limits {
    i64 most = 256, most_of_address = 64;      // that wait here
    i64 most_talks = 256, most_talks_of_address = 64;
    i64 first_byte_ms = 5'000;
    i64 short_talk_ms = 1'000;                 // in which an honest one shows its key; later it may be cut for others
  };
  Reception(const Limits& limits, RefusalLog& refusals) : limits_(limits), refusals_(refusals) {}
  ~Reception();

  void receive(Newcomer newcomer);             // it, or another one, may be refused
  bool has_waiting() const;                    // for a talk: come again soon
  bool close_oldest(i64 now);                  // there are no descriptors left; false: nobody to close
  void add_to(std::vector<pollfd>& polled) const;
  void heard(const std::vector<pollfd>& polled, i64 now);
  // Whose turn it is; its descriptor is the caller's, who begins the talk. Fd -1: nobody's.
  Newcomer next(i64 now);
  std::shared_ptr<Talk> begin(const Newcomer& newcomer, std::function<void()> cut);

 private:
  using Waiting = std::list<Newcomer>;
  Waiting::iterator oldest_silent(const std::string& address);
  void refuse(Waiting::iterator who, const char* why, i64 now);
  bool may_talk(const std::string& address, i64 now);

  const Limits limits_;
  RefusalLog& refusals_;
  Waiting waiting_;                            // oldest first
  std::list<std::shared_ptr<Talk>> talks_;     // oldest first
};

// Accepts a connection of a listening socket that does not block. Fd -1: there is none; errno says why.
Newcomer accept_from(int listener, i64 now);

}  // namespace mercutio::remote
