// Open-file-description locks of byte ranges, and a turnstile before those that are shared.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>

#include "base/types.h"

namespace mercutio::posix {

// Sets or clears a lock; 0 or errno.
int set_lock(int fd, int command, short type, i64 begin, i64 end);
// A lock that keeps this one from being granted; of type F_UNLCK where none does.
struct flock holder_of(int fd, short type, i64 begin, i64 end);
// Whether it is one of the bytes beyond all data by which Mercutio's opens of a file know of each other (storage/writer_group.h), and no
// lock of a program that reaches as far.
bool is_beyond_data(const struct flock& holder);
// Whether a program has locked all of these bytes for itself by a lock of the older kind, such as lockf(3)'s, which has a process. Then nobody else
// has one of them. Not to be asked where locks are a server's: Linux's client of NFS shows locks of descriptions that had to wait as those of a process.
bool covers(const struct flock& holder, i64 begin, i64 end);
// Whether this process itself has locked some of them by a lock of the older kind, wherever the file is.
bool locked_by_process(int fd, short type, i64 begin, i64 end);
// Puts a descriptor that can't be used for anything in the place of this one. The description it stood for ends, and its
// locks with it, as soon as the calls that use it now have returned.
void give_up(int fd);

inline constexpr i64 kTurnNs = 1'000'000, kServerTurnNs = 20'000'000;   // many times what it costs to look

// Keeps shared locks from starving an exclusive one: the kernel grants shared locks beside each other though somebody waits for an
// exclusive one. Who has to wait for that holds the turnstile, a byte far beyond any data, until it has its lock. Who wants a shared
// lock looks whether the turnstile is taken, at most once in `period_ns`, so that a lock costs no system call more. If it is taken, it
// waits until it is given back, and only then takes its lock.
//
// Nobody waits without end. A period after the turnstile was taken, and when the accesses that run then have ended, no shared lock is
// left, and its holder gets its lock. Others wait for the turns of those before them in the kernel's queue. The turnstile comes before
// all ranges: who holds a range of the file passes it by, so no circle of waiting leads through it. (Threads of one open that always
// hold a range between them pass it by, too, and can still starve other opens.)
class Turnstile {
 public:
  // `unreported` gets the errno if the byte could not be unlocked.
  Turnstile(i64 byte, std::atomic<int>& unreported) : byte_(byte), unreported_(unreported) {}
  void set_period(i64 period_ns) { period_ns_ = period_ns; }

  // Whether another open of the file waits for an exclusive lock. Not asked for a period after it was found free.
  bool is_taken(int fd);
  // Returns what `wait` returns, which is called while the turnstile is held, `type` F_WRLCK, or has been passed, F_RDLCK. Where the
  // byte can't be locked, or a program's lock covers it, it is called all the same. The mutex: threads share what they hold of the byte.
  template <class Wait>
  auto hold(int fd, short type, Wait wait) {
    std::lock_guard guard(mutex_);
    int failed = set_lock(fd, F_OFD_SETLK, type, byte_, byte_ + 1);
    const bool taken = failed == EAGAIN || failed == EACCES;
    if (taken && is_beyond_data(holder_of(fd, type, byte_, byte_ + 1))) failed = set_lock(fd, F_OFD_SETLKW, type, byte_, byte_ + 1);
    const Passage passage{*this, failed == 0 ? fd : -1};
    return wait();
  }
  // Calls `attempt` until it returns something else than EAGAIN, and holds the turnstile meanwhile, as far as nobody else does. No call
  // waits in the kernel: a program's lock of the whole file may come before the turn.
  template <class Attempt>
  int hold_until(int fd, Attempt attempt) {
    std::lock_guard guard(mutex_);
    const Passage passage{*this, fd};
    int failed = attempt();
    for (unsigned pause_us = 20; failed == EAGAIN; pause_us = pause_us < kLongestPauseUs ? 2 * pause_us : kLongestPauseUs) {
      (void)set_lock(fd, F_OFD_SETLK, F_WRLCK, byte_, byte_ + 1);
      ::usleep(pause_us);
      failed = attempt();
    }
    return failed;
  }

 private:
  static constexpr unsigned kLongestPauseUs = 1000;

  struct Passage {
    ~Passage();
    Turnstile& turnstile;
    const int fd;
  };

  const i64 byte_;
  std::atomic<int>& unreported_;
  i64 period_ns_ = kTurnNs;
  std::atomic<i64> next_ns_{0};   // when it is looked at again
  std::mutex mutex_;
};

}  // namespace mercutio::posix
