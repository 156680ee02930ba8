// A transfer that was over before it was handed out: for storages that can't overlap, and for errors seen at the start.
#include "storage/finished_transfer.h"

namespace mercutio {
namespace {

class FinishedTransfer final : public Transfer {
 public:
  explicit FinishedTransfer(const Result<i64>& result) : result_(result) {}
  bool done() override { return true; }
  Result<i64> wait() override { return result_; }

 private:
  const Result<i64> result_;
};

}  // namespace

std::unique_ptr<Transfer> finished_transfer(const Result<i64>& result) {
  return std::make_unique<FinishedTransfer>(result);
}

}  // namespace mercutio
