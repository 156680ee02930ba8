// Requests side by side: threads, a few at once. What failed first is thrown by wait().
#pragma once

#include <csignal>

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace mercutio_s3 {

class Jobs {
 public:
  explicit Jobs(int most) : most_(most) {}
  ~Jobs() { drain(); }
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  // Waits where as many run as may.
  void start(std::function<void()> job) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return running_ < most_; });
      ++running_;
    }
    sigset_t all, before;   // signals are for the program's own threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = true;
    try {
      std::thread([this, job] { run(job); }).detach();   // drain() waits for what it does here
    } catch (...) {   // no thread or no memory
      started = false;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (!started) run(job);
  }

  void wait() {
    drain();
    std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }
  // Without the failure.
  void drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return running_ == 0; });
  }

 private:
  void run(const std::function<void()>& job) {
    std::exception_ptr failed;
    try {
      job();
    } catch (...) {
      failed = std::current_exception();
    }
    std::lock_guard lock(mutex_);
    if (failed && !failure_) failure_ = failed;
    --running_;
    changed_.notify_all();
  }

  const int most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int running_ = 0;
  std::exception_ptr failure_;
};

}  // namespace mercutio_s3
