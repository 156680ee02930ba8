#include "engine/progress.h"

#include <algorithm>
#include <vector>

namespace mercutio {
namespace {

class Started final : public Request {
 public:
  explicit Started(Undertaking undertaking)
      : task_(std::move(undertaking.task)), on_done_(std::move(undertaking.on_done)), rest_(std::move(undertaking.rest)) {}

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

  // Called by who drives, between two steps.
  bool knows_rest() const { return rest_ != nullptr; }
  void rest(i64 spins) const { rest_(spins); }

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
  const std::function<void(i64)> rest_;
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
  explicit ProgressThread(void (*at_start)()) : at_start_(at_start) {}
  ~ProgressThread() override {
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  RequestRef start(Undertaking undertaking) override {
    auto started = std::make_shared<Started>(std::move(undertaking));
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
    if (at_start_) at_start_();
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
      if (active.empty() || spins == 0) continue;
      active.size() == 1 && active[0]->knows_rest() ? active[0]->rest(spins) : back_off(spins);
    }
  }

  void (*const at_start_)();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<Started>> arrived_;
  std::thread thread_;
  bool ending_ = false;
};

// Driven by one thread at a time; a call from inside a step (the message-passing library may call back) does nothing.
class HelpedTasks {
 public:
  void add(std::shared_ptr<Started> started) {
    std::lock_guard lock(mutex_);
    arrived_.push_back(std::move(started));
    ++left_;
  }

  bool help() {
    if (left_.load() == 0) return false;
    if (!busy_.test_and_set(std::memory_order_acquire)) {
      {
        std::lock_guard lock(mutex_);
        active_.insert(active_.end(), arrived_.begin(), arrived_.end());
        arrived_.clear();
      }
      left_ -= static_cast<i64>(std::erase_if(active_, [](const std::shared_ptr<Started>& one) { return one->drive(); }));
      busy_.clear(std::memory_order_release);
    }
    return left_.load() > 0;
  }

 private:
  std::atomic_flag busy_;
  std::vector<std::shared_ptr<Started>> active_;   // of the thread that is busy
  std::mutex mutex_;
  std::vector<std::shared_ptr<Started>> arrived_;
  std::atomic<i64> left_{0};
};

class HelpedProgress final : public Progress {
 public:
  ~HelpedProgress() override {
    for (i64 spins = 0; tasks_->help(); ++spins) back_off(spins);
  }

  RequestRef start(Undertaking undertaking) override {
    auto started = std::make_shared<Started>(std::move(undertaking));
    tasks_->add(started);
    return std::make_shared<Helped>(std::move(started), tasks_);
  }
  bool help() override { return tasks_->help(); }

 private:
  class Helped final : public Request {
   public:
    Helped(std::shared_ptr<Started> started, std::shared_ptr<HelpedTasks> tasks)
        : started_(std::move(started)), tasks_(std::move(tasks)) {}
    bool done() const override { return started_->done(); }
    Result<i64> wait() override {
      for (i64 spins = 0; !done(); ++spins) {
        tasks_->help();
        if (!done()) back_off(spins);
      }
      return started_->wait();
    }
    bool wait_for(std::chrono::microseconds time) override {
      const auto end = std::chrono::steady_clock::now() + time;
      for (i64 spins = 0; !done() && std::chrono::steady_clock::now() < end; ++spins) {
        tasks_->help();
        if (!done()) back_off(spins);
      }
      return done();
    }

   private:
    std::shared_ptr<Started> started_;
    std::shared_ptr<HelpedTasks> tasks_;
  };

  std::shared_ptr<HelpedTasks> tasks_ = std::make_shared<HelpedTasks>();
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

std::unique_ptr<Progress> make_progress_thread(void (*at_start)()) { return std::make_unique<ProgressThread>(at_start); }
std::unique_ptr<Progress> make_helped_progress() { return std::make_unique<HelpedProgress>(); }

}  // namespace mercutio
