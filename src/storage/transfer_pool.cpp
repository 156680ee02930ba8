// The pool of threads. One mutex for the queue; one per job would buy nothing, as a job is a system call at least.
#include "storage/transfer_pool.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/attempt.h"
#include "base/threads.h"
#include "storage/finished_transfer.h"

namespace mercutio {

TransferCount::Running TransferCount::begin(std::shared_ptr<TransferCount> count) {
  TransferCount* const counted = count.get();
  counted->running_.fetch_add(1);
  return Running(counted, [count = std::move(count)](void*) { count->end(); });   // also called where memory is lacking for it
}

void TransferCount::end() {
  running_.fetch_sub(1);
  running_.notify_all();
}

void TransferCount::wait() {
  if (owner_ != ::getpid()) return;
  for (i64 running = running_.load(); running > 0; running = running_.load()) running_.wait(running);
}

namespace {

struct Job {
  explicit Job(std::function<Result<i64>()> transfer) : move(std::move(transfer)) {}

  std::function<Result<i64>()> move;
  std::atomic<bool> taken{false};
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Result<i64>> result;

  void run() {
    if (taken.exchange(true)) return;
    Result<i64> moved = attempt(move);
    move = nullptr;
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

}  // namespace

class TransferPool::Threads {
 public:
  explicit Threads(i64 threads) : wanted_(std::clamp<i64>(threads, 1, 256)), pool_(std::make_unique<Pool>()) {
    pool_->threads.reserve(static_cast<size_t>(wanted_));   // a thread that was started always has its place
  }

  ~Threads() {
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

  std::unique_ptr<Transfer> start(std::function<Result<i64>()> move) {
    if (owner_ != ::getpid()) return finished_transfer(attempt(move));
    auto job = std::make_shared<Job>(std::move(move));
    auto handle = std::make_unique<JobTransfer>(job);   // before a thread may have the job: it uses the caller's memory
    if (!enqueue(std::move(job))) (void)handle->wait();
    return handle;
  }

 private:
  // False: there is no thread, or no memory.
  bool enqueue(std::shared_ptr<Job> job) {
    {
      std::lock_guard guard(pool_->mutex);
      add_thread();
      if (pool_->threads.empty()) return false;
      const Status queued = attempt([&] {
        pool_->jobs.push_back(std::move(job));
        return ok_status();
      });
      if (!queued) return false;
    }
    pool_->changed.notify_one();
    return true;
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

TransferPool::TransferPool(i64 threads) : threads_(std::make_unique<Threads>(threads)) {}
TransferPool::~TransferPool() = default;
std::unique_ptr<Transfer> TransferPool::start(std::function<Result<i64>()> move) { return threads_->start(std::move(move)); }

std::shared_ptr<TransferPool> TransferPools::of(i64 threads) {
  std::lock_guard guard(mutex_);
  std::weak_ptr<TransferPool>& known = pools_[threads];
  std::shared_ptr<TransferPool> pool = known.lock();
  if (!pool) known = pool = std::make_shared<TransferPool>(threads);
  return pool;
}

}  // namespace mercutio
