#include "engine/progress.h"

#include <algorithm>
#include <vector>

namespace mercutio {
namespace {

class Started final : public Request {
 public:
  Started(Task<Result<i64>> task, std::function<void(const Result<i64>&)> on_done)
      : task_(std::move(task)), on_done_(std::move(on_done)) {}

  bool done() const override { return done_.load(std::memory_order_acquire); }

  Result<i64> wait() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done(); });
    return *result_;
  }

  bool wait_for(std::chrono::microseconds time) override {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return done(); });
  }

  // Advances the task; true when it has ended. Only one thread drives.
  bool drive() {
    if (!task_->step()) return false;
    Result<i64> result = task_->take();
    task_.reset();   // what the access refers to is released before anybody learns that it is over
    if (on_done_) on_done_(result);
    on_done_ = nullptr;
    {
      std::lock_guard lock(mutex_);
      result_ = std::move(result);
      done_.store(true, std::memory_order_release);
    }
    changed_.notify_all();
    return true;
  }

 private:
  std::optional<Task<Result<i64>>> task_;
  std::function<void(const Result<i64>&)> on_done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Result<i64>> result_;
  std::atomic<bool> done_{false};
};

// Nothing moved for the n-th time: yield first, then sleep ever longer, so that ranks that share a core get it.
void back_off(i64 spins) {
  if (spins < 32) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(std::min<i64>(5 + (spins - 32) / 4, 100)));
  }
}

class ProgressThread final : public Progress {
 public:
  ~ProgressThread() override {
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  RequestRef start(Task<Result<i64>> task, std::function<void(const Result<i64>&)> on_done) override {
    auto started = std::make_shared<Started>(std::move(task), std::move(on_done));
    {
      std::lock_guard lock(mutex_);
      arrived_.push_back(started);
      if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
    }
    wake_.notify_all();
    return started;
  }

 private:
  void loop() {
    std::vector<std::shared_ptr<Started>> active;
    i64 spins = 0;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        if (active.empty()) wake_.wait(lock, [this] { return ending_ || !arrived_.empty(); });
        if (!arrived_.empty()) spins = 0;
        active.insert(active.end(), arrived_.begin(), arrived_.end());
        arrived_.clear();
        if (active.empty() && ending_) return;
      }
      const auto ended = std::erase_if(active, [](const std::shared_ptr<Started>& one) { return one->drive(); });
      spins = ended > 0 ? 0 : spins + 1;
      if (!active.empty() && spins > 0) back_off(spins);
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<Started>> arrived_;
  std::thread thread_;
  bool ending_ = false;
};

class EagerProgress final : public Progress {
 public:
  RequestRef start(Task<Result<i64>> task, std::function<void(const Result<i64>&)> on_done) override {
    auto started = std::make_shared<Started>(std::move(task), std::move(on_done));
    for (i64 spins = 0; !started->drive(); ++spins) back_off(spins);
    return started;
  }
};

}  // namespace

RequestRef finished_request(Result<i64> result) {
  class Finished final : public Request {
   public:
    explicit Finished(Result<i64> result) : result_(std::move(result)) {}
    bool done() const override { return true; }
    Result<i64> wait() override { return result_; }
    bool wait_for(std::chrono::microseconds) override { return true; }

   private:
    Result<i64> result_;
  };
  return std::make_shared<Finished>(std::move(result));
}

std::unique_ptr<Progress> make_progress_thread() { return std::make_unique<ProgressThread>(); }
std::unique_ptr<Progress> make_eager_progress() { return std::make_unique<EagerProgress>(); }

}  // namespace mercutio
