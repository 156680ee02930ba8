// The locks for which clients of a server wait. A waiting lock uses an entry here but no thread. Their number is limited only by
// the limit on the requests of a session. Conflicting locks of one file are granted in the order of their requests.
//
// The server is not notified when another process or another server releases a lock, so one thread retries: at once when a client
// of this server has released a lock of the file, otherwise after a sixteenth of the time waited so far, but 0.5 to 20 ms. While
// clients pass a lock to each other, other processes cannot get it; after kTurnMs it is therefore left free for kPauseMs. Cost: one
// system call per try, for the first of the conflicting requests.
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
  using Granted = std::function<void(Result<std::unique_ptr<HeldLock>>)>;   // the lock, or the reason for the failure

  LockQueue() = default;
  ~LockQueue() { stop(); }
  void stop();   // no lock is granted afterwards

  // Returns the lock if it is free. Null: `granted` will be called by the thread of the queue.
  Result<std::unique_ptr<HeldLock>> request(const LockRequest& wanted, Granted granted);
  // Without the queue. Null: a conflicting lock is held, and `waits` is false.
  static Result<std::unique_ptr<HeldLock>> take(const LockRequest& wanted, bool waits);
  void released(const std::string& path);        // a client has released a lock of that file
  void drop(const ServedSession* session);       // its requests are cancelled
  void step_without_thread(i64 now);             // must be called regularly if no thread could be started

 private:
  static constexpr i64 kMs = 1'000'000;
  static constexpr i64 kTurnMs = 300, kPauseMs = 20;
  struct Waiter {
    LockRequest wanted;
    Granted granted;
    i64 since_ns = 0;
    bool over = false;      // granted or cancelled; guarded by the mutex of the queue
  };
  using Waiters = std::list<std::shared_ptr<Waiter>>;
  struct File {
    Waiters waiters;
    i64 next_ns = 0;        // time of the next try
    i64 turn_ns = 0;        // since when clients have passed the lock to each other; 0: they have not
  };
  static bool conflicts(const LockRequest& one, const LockRequest& other);
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
