#include "storage/posix/direct_read.h"

#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <new>

#include "base/types.h"

namespace mercutio::posix {
namespace {

// Never destroyed: a fork may come after the end of main().
struct ForkState {
  std::mutex mutex;   // held while the process forks
  std::condition_variable changed;
  i64 reads = 0;
  bool forking = false;
};

ForkState& fork_state() {
  static ForkState& only = *new ForkState;
  return only;
}

void before_fork() {
  ForkState& state = fork_state();
  std::unique_lock lock(state.mutex);
  state.changed.wait(lock, [&] { return !state.forking; });
  state.forking = true;
  state.changed.wait(lock, [&] { return state.reads == 0; });
  lock.release();   // after_fork_in_parent() or -_in_child() gives it back
}

void after_fork_in_parent() {
  ForkState& state = fork_state();
  {
    const std::unique_lock lock(state.mutex, std::adopt_lock);
    state.forking = false;
  }
  state.changed.notify_all();
}

// The threads that may have waited aren't here.
void after_fork_in_child() {
  ForkState& state = fork_state();
  const std::unique_lock lock(state.mutex, std::adopt_lock);
  state.forking = false;
  new (&state.changed) std::condition_variable;
}

void register_fork_handlers() {
  static const int watched = ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  (void)watched;   // only memory can be missing: then forks aren't waited for
}

}  // namespace

DirectRead::DirectRead(bool direct) : direct_(direct) {
  if (!direct_) return;
  register_fork_handlers();
  ForkState& state = fork_state();
  std::unique_lock lock(state.mutex);
  state.changed.wait(lock, [&] { return !state.forking; });
  ++state.reads;
}

DirectRead::~DirectRead() {
  if (!direct_) return;
  ForkState& state = fork_state();
  std::lock_guard lock(state.mutex);
  --state.reads;
  state.changed.notify_all();
}

}  // namespace mercutio::posix
