// Progress: drives started accesses beside the program. One thread a process, started at the first request, asleep when
// nothing is pending. Used only where the message-passing library may be called from any thread; otherwise nonblocking
// calls run to their end at once.
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

class Progress {
 public:
  virtual ~Progress() = default;          // drives everything to its end first
  // Starts driving `task`. `on_done` is called once, from the driving thread, with the result.
  virtual RequestRef start(Task<Result<i64>> task, std::function<void(const Result<i64>&)> on_done) = 0;
};

std::unique_ptr<Progress> make_progress_thread();
// Runs a task to its end inside start(): for libraries without MPI_THREAD_MULTIPLE. idle as in run().
std::unique_ptr<Progress> make_eager_progress();

}  // namespace mercutio
