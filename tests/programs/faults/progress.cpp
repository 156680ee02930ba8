#include "faults/progress.h"

#include "comm/comm.h"

namespace mercutio::programs {

class RankProgress::RankRequest final : public Request {
 public:
  RankRequest(SimulatedJob& job, RequestBody body)
      : job_(job), task_(std::move(body.task)), on_done_(std::move(body.on_done)), failed_(std::move(body.failed)) {}

  bool done() const override { return result_.has_value(); }
  Result<i64> wait() override {
    while (!done()) job_.wait();
    return *result_;
  }
  bool wait_for(std::chrono::microseconds) override {
    if (!done()) job_.wait();
    return done();
  }
  bool wait_until(const std::function<bool()>& over) override {
    while (!done() && !over()) job_.wait();
    return done();
  }

  bool step() {
    if (task_->step()) {
      end(task_->take());
    } else if (failed_ && failed_(true)) {
      end(rank_died());
    }
    return done();
  }
  void end(Result<i64> result) {
    task_.reset();
    if (on_done_) on_done_(result);
    on_done_ = nullptr;
    result_ = std::move(result);
    job_.moved();
  }

 private:
  SimulatedJob& job_;
  std::optional<Task<Result<i64>>> task_;
  std::function<void(const Result<i64>&)> on_done_;
  std::function<bool(bool)> failed_;
  std::optional<Result<i64>> result_;
};

RequestRef RankProgress::start(RequestBody body) {
  active_.push_back(std::make_shared<RankRequest>(job_, std::move(body)));
  return active_.back();
}

void RankProgress::drive() {
  driving_ = true;  // a step may wait for a lock, and more be started meanwhile
  for (auto one = active_.begin(); one != active_.end();) {
    const std::shared_ptr<RankRequest> request = *one;
    one = request->step() ? active_.erase(one) : std::next(one);
  }
  driving_ = false;
}

void RankProgress::abandon() {
  for (const auto& request : active_) request->end(rank_died());
  active_.clear();
}

}  // namespace mercutio::programs
