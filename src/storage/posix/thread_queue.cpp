// The pool of threads. One mutex for the queue; one per job would buy nothing, as a job is a system call at least.
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "base/attempt.h"
#include "base/threads.h"
#include "storage/finished_transfer.h"
#include "storage/posix/async_queue.h"
#include "storage/posix/direct_read.h"
#include "storage/posix/transfer.h"

namespace mercutio::posix {

OpenFd::~OpenFd() {
  if (fd_ >= 0) ::close(fd_);
}

void OpenFd::end() {
  users_.fetch_sub(1);
  users_.notify_all();
}

Status OpenFd::close() {
  for (i64 users = users_.load(); users > 0; users = users_.load()) users_.wait(users);
  if (fd_ < 0) return Error{ErrorClass::kFile, "the file is closed already", EBADF};
  const int fd = std::exchange(fd_, -1);
  // Linux gives the descriptor back whatever close returns: never twice.
  return ::close(fd) == 0 ? ok_status() : Status(error_from_errno("close", errno));
}

namespace {

struct Job {
  std::shared_ptr<OpenFd> fd;
  Direction direction;
  std::vector<IoPiece> pieces;
  std::atomic<bool> taken{false};
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Result<i64>> result;

  void run() {
    if (taken.exchange(true)) return;
    Result<i64> moved = attempt([&] {
      const DirectRead reading(fd->direct() && direction == Direction::kRead);
      return transfer(fd->get(), direction, pieces);
    });
    fd->end();
    fd.reset();
    std::lock_guard guard(mutex);
    result = std::move(moved);
    changed.notify_all();
  }
};

class JobTransfer final : public Transfer {
 public:
  explicit JobTransfer(std::shared_ptr<Job> job) : job_(std::move(job)) {}
  ~JobTransfer() override { (void)wait(); }
  bool done() override {
    std::lock_guard guard(job_->mutex);
    return job_->result.has_value();
  }
  Result<i64> wait() override {
    job_->run();
    std::unique_lock guard(job_->mutex);
    job_->changed.wait(guard, [&] { return job_->result.has_value(); });
    return *job_->result;
  }

 private:
  std::shared_ptr<Job> job_;
};

struct Pool {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Job>> jobs;
  std::vector<std::thread> threads;
  bool ending = false;

  void work() {
    std::unique_lock guard(mutex);
    for (;;) {
      changed.wait(guard, [&] { return ending || !jobs.empty(); });
      if (jobs.empty()) return;
      const std::shared_ptr<Job> job = std::move(jobs.front());
      jobs.pop_front();
      guard.unlock();
      job->run();
      guard.lock();
    }
  }
};

class ThreadQueue final : public AsyncQueue {
 public:
  const char* name() const override { return "threads"; }
  explicit ThreadQueue(i64 threads) : wanted_(std::clamp<i64>(threads, 1, 256)), pool_(std::make_unique<Pool>()) {
    pool_->threads.reserve(static_cast<size_t>(wanted_));   // a thread that was started always has its place
  }

  ~ThreadQueue() override {
    if (owner_ != ::getpid()) {
      (void)pool_.release();  // a forked child: the threads aren't here, and the locks may be held for ever
      return;
    }
    {
      std::lock_guard guard(pool_->mutex);
      pool_->ending = true;
    }
    pool_->changed.notify_all();
    for (std::thread& thread : pool_->threads) thread.join();
  }

  std::unique_ptr<Transfer> start(std::shared_ptr<OpenFd> fd, Direction direction,
                                  std::vector<IoPiece> pieces) override {
    if (owner_ != ::getpid()) return finished_transfer(transfer(fd->get(), direction, pieces));
    auto job = std::make_shared<Job>();
    fd->begin();
    job->fd = std::move(fd);
    job->direction = direction;
    job->pieces = std::move(pieces);
    {
      std::lock_guard guard(pool_->mutex);
      add_thread();
      // Without any thread, whoever waits runs the job.
      if (!pool_->threads.empty()) pool_->jobs.push_back(job);
    }
    pool_->changed.notify_one();
    auto handle = std::make_unique<JobTransfer>(job);
    if (!has_threads()) (void)handle->wait();
    return handle;
  }

 private:
  bool has_threads() {
    std::lock_guard guard(pool_->mutex);
    return !pool_->threads.empty();
  }
  void add_thread() {
    if (static_cast<i64>(pool_->threads.size()) >= wanted_) return;
    auto thread = start_thread([pool = pool_.get()] { pool->work(); });
    if (thread) pool_->threads.push_back(std::move(*thread));   // else those that run, or the waiters, do the work
  }

  const i64 wanted_;
  const pid_t owner_ = ::getpid();
  std::unique_ptr<Pool> pool_;
};

}  // namespace

std::shared_ptr<AsyncQueue> make_thread_queue(i64 threads) {
  return std::make_shared<ThreadQueue>(threads);
}

}  // namespace mercutio::posix
