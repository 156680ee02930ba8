// A transfer that takes some polls of the scheduler; the bytes move at its beginning or at its end.
#pragma once

#include <functional>
#include <optional>

#include "comm/simulated.h"
#include "storage/storage.h"

namespace mercutio::sim {

class SlowTransfer final : public Transfer {
 public:
  SlowTransfer(Simulation& simulation, i64 polls, std::function<Result<i64>()> move, bool at_once)
      : simulation_(simulation), polls_(polls), move_(std::move(move)) {
    if (at_once) result_ = move_();
  }
  ~SlowTransfer() override { finish(); }
  bool done() override {
    if (polls_ <= 0) return true;
    simulation_.something_moved();
    if (--polls_ == 0) finish();
    return polls_ <= 0;
  }
  Result<i64> wait() override {
    finish();
    return *result_;
  }

 private:
  void finish() {
    polls_ = 0;
    if (!result_) result_ = move_();
  }
  Simulation& simulation_;
  i64 polls_;
  std::function<Result<i64>()> move_;
  std::optional<Result<i64>> result_;
};

}  // namespace mercutio::sim
