// The traced decorator: two clock readings per call.
#include "storage/traced.h"

#include <utility>

#include "storage/forwarding.h"

namespace mercutio {
namespace {

TraceKind kind_of(Direction direction) {
  return direction == Direction::kRead ? TraceKind::kStorageRead : TraceKind::kStorageWrite;
}

class TracedTransfer final : public Transfer {
 public:
  TracedTransfer(std::unique_ptr<Transfer> inner, TraceSink& sink, TraceEvent event)
      : inner_(std::move(inner)), sink_(sink), event_(event) {}
  ~TracedTransfer() override { (void)wait(); }
  bool done() override { return inner_->done(); }
  Result<i64> wait() override {
    Result<i64> moved = inner_->wait();
    if (!std::exchange(recorded_, true)) {
      event_.end_ns = now_ns();
      event_.bytes = moved ? *moved : 0;
      sink_.record(event_);
    }
    return moved;
  }

 private:
  std::unique_ptr<Transfer> inner_;
  TraceSink& sink_;
  TraceEvent event_;
  bool recorded_ = false;
};

class Traced final : public Forwarding {
 public:
  Traced(std::unique_ptr<Storage> inner, TraceSink& sink) : Forwarding(std::move(inner)), sink_(sink) {}

  Result<i64> read(std::span<const IoPiece> pieces) override {
    TraceEvent event = begin(TraceKind::kStorageRead, pieces);
    Result<i64> moved = inner_->read(pieces);
    end(event, moved ? *moved : 0);
    return moved;
  }
  Result<i64> write(std::span<const IoPiece> pieces) override {
    TraceEvent event = begin(TraceKind::kStorageWrite, pieces);
    Result<i64> moved = inner_->write(pieces);
    end(event, moved ? *moved : 0);
    return moved;
  }
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override {
    const TraceEvent event = begin(kind_of(direction), pieces);
    return std::make_unique<TracedTransfer>(inner_->start(direction, std::move(pieces)), sink_, event);
  }
  Status sync() override {
    TraceEvent event = begin(TraceKind::kSync, {});
    Status status = inner_->sync();
    end(event, 0);
    return status;
  }
  Status close() override {
    TraceEvent event = begin(TraceKind::kClose, {});
    Status status = inner_->close();
    end(event, 0);
    return status;
  }
  Result<std::unique_ptr<HeldLock>> lock(i64 from, i64 to, bool exclusive) override {
    TraceEvent event = begin(TraceKind::kLock, {});
    event.offset = from;
    auto held = inner_->lock(from, to, exclusive);
    end(event, to - from);
    return held;
  }

 private:
  static TraceEvent begin(TraceKind kind, std::span<const IoPiece> pieces) {
    TraceEvent event{kind, now_ns()};
    if (!pieces.empty()) event.offset = pieces.front().offset;
    return event;
  }
  void end(TraceEvent& event, i64 bytes) {
    event.end_ns = now_ns();
    event.bytes = bytes;
    sink_.record(event);
  }

  TraceSink& sink_;
};

}  // namespace

std::unique_ptr<Storage> make_traced(std::unique_ptr<Storage> inner, TraceSink& sink) {
  return std::make_unique<Traced>(std::move(inner), sink);
}

}  // namespace mercutio
