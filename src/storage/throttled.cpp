// The throttled decorator: transfers queue up, in time only, on one line of the given bandwidth; each ends no earlier
// than its bytes have left the line and the latency has passed.
#include "storage/throttled.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/thread_annotations.h"
#include "storage/forwarding.h"

namespace mercutio {
namespace {

void sleep_until(i64 time_ns) {
  for (i64 left = time_ns - now_ns(); left > 0; left = time_ns - now_ns())
    std::this_thread::sleep_for(std::chrono::nanoseconds(left));
}

class ThrottledTransfer final : public Transfer {
 public:
  ThrottledTransfer(std::unique_ptr<Transfer> inner, i64 ready_ns) : inner_(std::move(inner)), ready_ns_(ready_ns) {}
  ~ThrottledTransfer() override { (void)wait(); }
  bool done() override { return inner_->done() && now_ns() >= ready_ns_; }
  Result<i64> wait() override {
    Result<i64> moved = inner_->wait();
    sleep_until(ready_ns_);
    return moved;
  }

 private:
  std::unique_ptr<Transfer> inner_;
  const i64 ready_ns_;
};

class Throttled final : public Forwarding {
 public:
  Throttled(std::unique_ptr<Storage> inner, const ThrottleSpeed& speed) : Forwarding(std::move(inner)), speed_(speed) {}

  Result<i64> read(std::span<const IoPiece> pieces) override {
    const i64 ready = reserve(pieces);
    Result<i64> moved = inner_->read(pieces);
    sleep_until(ready);
    return moved;
  }
  Result<i64> write(std::span<const IoPiece> pieces) override {
    const i64 ready = reserve(pieces);
    Result<i64> moved = inner_->write(pieces);
    sleep_until(ready);
    return moved;
  }
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override {
    const i64 ready = reserve(pieces);
    return std::make_unique<ThrottledTransfer>(inner_->start(direction, std::move(pieces)), ready);
  }
  std::optional<Result<i64>> move_locked(Direction, std::span<const IoPiece>, i64, i64) override { return std::nullopt; }

 private:
  // When a transfer of these pieces may end.
  i64 reserve(std::span<const IoPiece> pieces) {
    double seconds = 0;
    if (speed_.bytes_per_second > 0)
      for (const IoPiece& piece : pieces)
        seconds += static_cast<double>(piece.bytes) / static_cast<double>(speed_.bytes_per_second);
    std::lock_guard guard(mutex_);
    line_free_ns_ = std::max(line_free_ns_, now_ns()) + static_cast<i64>(seconds * 1e9);
    return line_free_ns_ + speed_.latency_ns;
  }

  const ThrottleSpeed speed_;
  std::mutex mutex_;
  i64 line_free_ns_ MERCUTIO_GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::unique_ptr<Storage> make_throttled(std::unique_ptr<Storage> inner, const ThrottleSpeed& speed) {
  return std::make_unique<Throttled>(std::move(inner), speed);
}

}  // namespace mercutio
