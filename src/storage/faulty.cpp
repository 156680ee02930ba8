// The faulty decorator. A failing close still closes what it wraps.
#include "storage/faulty.h"

#include <algorithm>
#include <vector>

#include "storage/finished_transfer.h"
#include "storage/forwarding.h"

namespace mercutio {
namespace {

// The first `bytes` bytes of the pieces.
std::vector<IoPiece> prefix_of(std::span<const IoPiece> pieces, i64 bytes) {
  std::vector<IoPiece> prefix;
  for (IoPiece piece : pieces) {
    piece.bytes = std::min(piece.bytes, bytes);
    bytes -= piece.bytes;
    prefix.push_back(piece);
  }
  return prefix;
}

// Where the byte number `at` of the pieces lies in the file.
i64 offset_at(std::span<const IoPiece> pieces, i64 at) {
  for (const IoPiece& piece : pieces) {
    if (at < piece.bytes) return piece.offset + at;
    at -= piece.bytes;
  }
  return -1;
}

class Faulty final : public Forwarding {
 public:
  Faulty(std::unique_ptr<Storage> inner, std::shared_ptr<FaultPlan> plan)
      : Forwarding(std::move(inner)), plan_(std::move(plan)) {}

  Result<i64> read(std::span<const IoPiece> pieces) override {
    return fails(kFaultRead) ? failed_read(pieces) : inner_->read(pieces);
  }
  Result<i64> write(std::span<const IoPiece> pieces) override {
    return fails(kFaultWrite) ? failed_write(pieces) : inner_->write(pieces);
  }
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override {
    const bool reading = direction == Direction::kRead;
    if (!fails(reading ? kFaultRead : kFaultWrite)) return inner_->start(direction, std::move(pieces));
    return finished_transfer(reading ? failed_read(pieces) : failed_write(pieces));
  }
  Result<i64> size() override {
    if (fails(kFaultSize)) return plan_->error;
    return inner_->size();
  }
  Status set_size(i64 bytes) override { return fails(kFaultSetSize) ? Status(plan_->error) : inner_->set_size(bytes); }
  Status preallocate(i64 bytes) override {
    return fails(kFaultPreallocate) ? Status(plan_->error) : inner_->preallocate(bytes);
  }
  Status sync() override { return fails(kFaultSync) ? Status(plan_->error) : inner_->sync(); }
  Status close() override {
    Status closed = inner_->close();
    return fails(kFaultClose) ? Status(plan_->error) : closed;
  }
  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override {
    if (fails(kFaultLock)) return plan_->error;
    MERCUTIO_LET(auto held, inner_->lock(begin, end, exclusive));
    return std::unique_ptr<HeldLock>(std::make_unique<FaultyLock>(std::move(held), *this));
  }
  Result<std::unique_ptr<HeldLock>> try_lock(i64 begin, i64 end, bool exclusive) override {
    if (fails(kFaultLock)) return plan_->error;
    MERCUTIO_LET(auto held, inner_->try_lock(begin, end, exclusive));
    if (!held) return std::unique_ptr<HeldLock>();
    return std::unique_ptr<HeldLock>(std::make_unique<FaultyLock>(std::move(held), *this));
  }
  // Each part may fail by itself.
  std::optional<Result<i64>> move_locked(Direction, std::span<const IoPiece>, i64, i64) override { return std::nullopt; }

 private:
  // Given back in any case: what fails is to know of it.
  class FaultyLock final : public HeldLock {
   public:
    FaultyLock(std::unique_ptr<HeldLock> inner, Faulty& owner) : inner_(std::move(inner)), owner_(owner) {}
    Status release() override {
      Status released = inner_->release();
      return owner_.fails(kFaultUnlock) ? Status(owner_.plan_->error) : released;
    }

   private:
    std::unique_ptr<HeldLock> inner_;
    Faulty& owner_;
  };

  bool fails(FaultKind kind) {
    if ((plan_->kinds & kind) == 0) return false;
    const i64 number = plan_->seen.fetch_add(1);
    if (plan_->fail_at < 0) return false;
    return number == plan_->fail_at || (plan_->from_then_on && number > plan_->fail_at);
  }
  Result<i64> failed_read(std::span<const IoPiece> pieces) {
    if (plan_->short_read_bytes < 0) return plan_->error;
    return inner_->read(prefix_of(pieces, plan_->short_read_bytes));
  }
  Result<i64> failed_write(std::span<const IoPiece> pieces) {
    if (plan_->partial_write_bytes > 0) MERCUTIO_TRY(inner_->write(prefix_of(pieces, plan_->partial_write_bytes)));
    Error error = plan_->error;
    error.offset = offset_at(pieces, plan_->partial_write_bytes);
    error.moved = std::min(plan_->partial_write_bytes, bytes_of(pieces));
    return error;
  }

  const std::shared_ptr<FaultPlan> plan_;
};

}  // namespace

std::unique_ptr<Storage> make_faulty(std::unique_ptr<Storage> inner, std::shared_ptr<FaultPlan> plan) {
  return std::make_unique<Faulty>(std::move(inner), std::move(plan));
}

}  // namespace mercutio
