// The locks that clients of a server wait for. A waiting lock costs an entry here and no thread, and there is no limit but that on
// the requests of a session. Locks of one file are granted in the order of their requests where they conflict.
//
// The server cannot be told when somebody else (a process here, another server) releases a lock, so one thread tries again: at
// once when a client of this server has released a lock of the file, else after a sixteenth of the time waited so far, 0.5 to 20 ms.
// While clients hand a lock to each other for kTurnMs, others could not get it; then it is left free for kPauseMs.
// Cost: a system call a try, for the first of the requests that conflict.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <thread>

#include "base/thread_annotations.h"
#include "remote/served_session.h"

namespace mercutio::remote {

struct LockRequest {
  std::shared_ptr<ServedSession> session;
  std::shared_ptr<ServedFile> file;
  i64 begin = 0, end = 0;
  bool exclusive = false;
};

class LockQueue {
 public:
  using Granted = std::function<void(Result<std::unique_ptr<HeldLock>>)>;   // or why it can't be had

  LockQueue() = default;
  ~LockQueue() { stop(); }
  void stop();   // nothing is granted afterwards

  // The lock if it is free, else null: then `granted` is called later, by the thread of the queue.
  Result<std::unique_ptr<HeldLock>> request(const LockRequest& wanted, Granted granted);
  void released(const std::string& path);        // a client has released a lock of that file
  void drop(const ServedSession* session);       // its requests are not granted any more
  void step_without_thread(i64 now);             // from time to time: where there is no thread to be had

 private:
  static constexpr i64 kMs = 1'000'000;
  static constexpr i64 kTurnMs = 300, kPauseMs = 20;
  struct Waiter {
    LockRequest wanted;
    Granted granted;
    i64 since_ns = 0;
    bool over = false;      // granted or dropped; guarded by the mutex of the queue
  };
  using Waiters = std::list<std::shared_ptr<Waiter>>;
  struct File {
    Waiters waiters;
    i64 next_ns = 0;        // when to try again
    i64 turn_ns = 0;        // since when locks pass from client to client; 0: they don't
  };
  static bool conflicts(const LockRequest& one, const LockRequest& other);
  static Result<std::unique_ptr<HeldLock>> attempt_lock(const LockRequest& wanted);
  void run();
  void step(i64 now);
  void wake() MERCUTIO_REQUIRES(mutex_);
  std::vector<std::shared_ptr<Waiter>> due(i64 now) MERCUTIO_REQUIRES(mutex_);
  bool take_out(const std::shared_ptr<Waiter>& waiter, i64 now) MERCUTIO_REQUIRES(mutex_);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, File> files_ MERCUTIO_GUARDED_BY(mutex_);
  std::thread thread_ MERCUTIO_GUARDED_BY(mutex_);
  bool stopping_ MERCUTIO_GUARDED_BY(mutex_) = false;
};

}  // namespace mercutio::remote
