// Progress: drives nonblocking accesses while the program computes.
//
// One progress thread a process, started by the first request and asleep when none is pending, drives
// accesses that send no messages, and all where MPI may be called from any thread. A thread that waits for a
// request without communication progresses it itself and the progress thread stays idle, as a handover takes
// longer than a small access. Other requests are driven by the threads that wait, in progress() and in
// wait().
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

// A nonblocking access. Once done() is true, the result is available.
class Request {
 public:
  virtual ~Request() = default;
  virtual bool done() const = 0;          // any thread
  virtual Result<i64> wait() = 0;         // blocks until done; the bytes moved or the Error; may be called repeatedly
  virtual bool wait_for(std::chrono::microseconds time) = 0;   // blocks until done or the time is over; true: done
};
using RequestRef = std::shared_ptr<Request>;

RequestRef finished_request(Result<i64> result);

// What a request executes.
struct RequestBody {
  Task<Result<i64>> task;
  bool sends = false;                                    // the task may call MPI
  std::function<void(const Result<i64>&)> on_done;       // called once, by the thread that drives the task; may be empty
  std::function<void(i64)> backoff;                         // Comm::backoff_no_mpi: pauses after the n-th step without progress; may be called after the end; may be empty
  bool inline_ok = false;                                    // this rank's part is cheaper to run inline than to hand to a thread
  // Whether a dead rank keeps the task from ending: then it is destroyed, and the result is rank_died(). May be empty.
  // `may_call`: this thread may call MPI.
  std::function<bool(bool may_call)> failed = {};
};

class Progress {
 public:
  virtual ~Progress() = default;          // drives all requests to their end first
  virtual RequestRef start(RequestBody body) = 0;
  // Whether it can drive a new request now; false: start() returns after the request is complete.
  virtual bool ready() { return true; }
  // For threads that wait for something else and may be needed: advances the requests that such threads may drive. True
  // if requests are pending that only such calls advance.
  virtual bool progress() { return false; }
  // Names the driver, for messages to users.
  virtual const char* who(bool /*sends*/) const { return "the progress thread"; }
};

std::unique_ptr<Progress> make_progress_thread(void (*at_start)() = nullptr);   // the new thread calls it first
// Without a thread: tasks advance in progress() and while one of their requests is waited for.
std::unique_ptr<Progress> make_polled_progress();

}  // namespace mercutio
