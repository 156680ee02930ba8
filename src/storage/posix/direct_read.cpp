#include "storage/posix/direct_read.h"

#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <new>

#include "base/types.h"

namespace mercutio::posix {
namespace {

// Never destroyed: a fork may come after the end of main().
struct Gate {
  std::mutex mutex;   // held while the process forks
  std::condition_variable changed;
  i64 reads = 0;
  bool forking = false;
};

Gate& gate() {
  static Gate& only = *new Gate;
  return only;
}

void before_fork() {
  Gate& here = gate();
  std::unique_lock lock(here.mutex);
  here.changed.wait(lock, [&] { return !here.forking; });
  here.forking = true;
  here.changed.wait(lock, [&] { return here.reads == 0; });
  lock.release();   // after_fork_in_parent() or -_in_child() gives it back
}

void after_fork_in_parent() {
  Gate& here = gate();
  {
    const std::unique_lock lock(here.mutex, std::adopt_lock);
    here.forking = false;
  }
  here.changed.notify_all();
}

// The threads that may have waited aren't here.
void after_fork_in_child() {
  Gate& here = gate();
  const std::unique_lock lock(here.mutex, std::adopt_lock);
  here.forking = false;
  new (&here.changed) std::condition_variable;
}

void watch_forks() {
  static const int watched = ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  (void)watched;   // only memory can be missing: then forks aren't waited for
}

}  // namespace

DirectRead::DirectRead(bool direct) : direct_(direct) {
  if (!direct_) return;
  watch_forks();
  Gate& here = gate();
  std::unique_lock lock(here.mutex);
  here.changed.wait(lock, [&] { return !here.forking; });
  ++here.reads;
}

DirectRead::~DirectRead() {
  if (!direct_) return;
  Gate& here = gate();
  std::lock_guard lock(here.mutex);
  --here.reads;
  here.changed.notify_all();
}

}  // namespace mercutio::posix
