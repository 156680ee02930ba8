// Progress: advances nonblocking accesses while the program computes.
//
// Each process has at most one progress thread. The first request starts it, and it sleeps while none is pending. It drives the
// accesses that send no messages, and all accesses if any thread may call MPI. A thread that waits for a request without messages
// drives it itself, and in a long wait the others of this kind, which it may follow. The progress thread stays idle then, because a
// handover takes longer than a small access. All other requests are driven by the threads that call progress() or wait().
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "engine/progress/task.h"

namespace mercutio {

// A nonblocking access. Once done() is true, the result is available.
class Request {
 public:
  virtual ~Request() = default;
  virtual bool done() const = 0;          // thread-safe
  // Blocks until done. Returns the bytes moved or the Error. May be called repeatedly. Only by threads that may call MPI.
  virtual Result<i64> wait() = 0;
  virtual bool wait_for(std::chrono::microseconds time) = 0;   // blocks until done or until the time has passed; true: done
  // Blocks as wait() does until done or until over(), which is asked after each step. Returns done().
  virtual bool wait_until(const std::function<bool()>& over) = 0;
};
using RequestRef = std::shared_ptr<Request>;

RequestRef finished_request(Result<i64> result);

class Pauses;

// What a request executes.
struct RequestBody {
  Task<Result<i64>> task;
  bool sends = false;                                    // the task may call MPI
  std::function<void(const Result<i64>&)> on_done;       // called once, by the driving thread; may be empty
  std::shared_ptr<Pauses> pauses;                        // of its Comm
  bool inline_ok = false;                                    // this rank's part is cheaper to run inline than to hand to a thread
  // Whether a dead rank prevents the task from ending. Then the task is destroyed and the result is rank_died(). May be empty.
  // `may_call`: this thread may call MPI.
  std::function<bool(bool may_call)> failed = {};
  // Of requests that may wait for those that were started before them. They must not wait for later ones of the same queue. Only compared.
  const void* queue = nullptr;
};

class Progress {
 public:
  virtual ~Progress() = default;          // first drives all requests to their end
  virtual RequestRef start(RequestBody body) = 0;
  // Whether a new request can be driven now. If not, start() returns after the request is complete.
  virtual bool ready() { return true; }
  // For threads that wait for something else: advances the requests that such threads may drive. `waits`: this thread is known to wait;
  // otherwise it shows by calls in quick succession. Returns true if requests are pending that only such calls advance.
  virtual bool progress(bool /*waits*/) { return false; }
  // The name of the driver, for messages to users.
  virtual const char* who(bool /*sends*/) const { return "the progress thread"; }
};

std::unique_ptr<Progress> make_progress_thread(void (*at_start)() = nullptr);   // `at_start`: called first by the new thread
// Without a thread: tasks advance in progress(), and while a thread waits for one of the requests.
std::unique_ptr<Progress> make_polled_progress();

}  // namespace mercutio
