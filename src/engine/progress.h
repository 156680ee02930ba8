// Progress: drives started accesses beside the program.
//
// By a thread, one a process, started at the first request and asleep when nothing is pending: for accesses that send no
// messages, or where the message-passing library may be called from any thread. Who waits for an access that sends none
// drives it instead, and the thread keeps away: handing over to another thread takes longer than a small access.
// For the others by polling: the threads that wait for something, in progress() and in the wait() of a request.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "engine/task.h"

namespace mercutio {

// A started access. Completion is seen by done(); the result is there then.
class Request {
 public:
  virtual ~Request() = default;
  virtual bool done() const = 0;          // any thread
  virtual Result<i64> wait() = 0;         // blocks until done; the bytes moved or the Error; any number of times
  virtual bool wait_for(std::chrono::microseconds time) = 0;   // blocks until done or the time is over; whether done
};
using RequestRef = std::shared_ptr<Request>;

RequestRef finished_request(Result<i64> result);

// An access to be driven.
struct RequestBody {
  Task<Result<i64>> task;
  bool sends = false;                                    // it may call the message-passing library
  std::function<void(const Result<i64>&)> on_done;       // called once, by the thread that drives; may be empty
  std::function<void(i64)> backoff;                         // when nothing moved for the n-th time in a row, perhaps when the access is over (Comm::backoff_no_mpi); may be empty
  bool inline_ok = false;                                    // what this rank does of it takes no longer than to wake a thread
  // Whether it can't end, as another rank has died: then it is given up, with rank_died(). May be empty. `may_call`: the thread may
  // call the message-passing library.
  std::function<bool(bool may_call)> failed = {};
};

class Progress {
 public:
  virtual ~Progress() = default;          // drives everything to its end first
  virtual RequestRef start(RequestBody body) = 0;
  // Whether it can drive what is started now; false: that will be over when start() returns.
  virtual bool ready() { return true; }
  // For whoever waits for something that started accesses do, from time to time: advances them as far as another thread
  // than the progress thread may. True if there are any left that only polling advances.
  virtual bool progress() { return false; }
  // Who drives, for people.
  virtual const char* who(bool /*sends*/) const { return "the progress thread"; }
};

std::unique_ptr<Progress> make_progress_thread(void (*at_start)() = nullptr);   // called by the thread
// Without a thread: tasks advance in progress() and while one of its requests is waited for.
std::unique_ptr<Progress> make_polled_progress();

}  // namespace mercutio
