#include "storage/dry.h"

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "storage/zeros.h"

namespace mercutio {
namespace {

class Dry final : public Storage {
 public:
  explicit Dry(std::unique_ptr<Storage> inner) : inner_(std::move(inner)) {}

  Result<i64> read(std::span<const IoPiece> pieces) override {
    MERCUTIO_LET(const i64 end, size());
    return read_zeros(end, pieces);
  }
  Result<i64> write(std::span<const IoPiece> pieces) override {
    MERCUTIO_LET(const Dropped dropped, drop(pieces));
    reach(dropped.end);
    return dropped.bytes;
  }
  Result<i64> size() override {
    const i64 set = size_;
    if (set >= 0) return std::max<i64>(set, written_);
    MERCUTIO_LET(const i64 real, inner_->size());
    return std::max<i64>(real, written_);
  }
  Status set_size(i64 bytes) override {
    if (bytes < 0) return Error{ErrorClass::kArg, "a negative size", EINVAL};
    size_ = bytes;
    written_ = 0;
    return ok_status();
  }
  Status preallocate(i64 bytes) override {
    if (bytes < 0) return Error{ErrorClass::kArg, "a negative size", EINVAL};
    reach(bytes);
    return ok_status();
  }
  Status sync() override { return ok_status(); }
  Status refresh() override { return inner_->refresh(); }
  Status publish(bool /*keep*/, bool last) override { return inner_->publish(/*keep=*/false, last); }
  Status close() override { return inner_->close(); }
  Result<std::unique_ptr<HeldLock>> lock(i64, i64, bool) override { return std::unique_ptr<HeldLock>(std::make_unique<NoLock>()); }
  std::unique_ptr<HeldLock> exclude_other_writers(bool /*promised*/) override { return std::make_unique<NoLock>(); }
  const Traits& traits() const override { return inner_->traits(); }
  Layout layout() override { return inner_->layout(); }

 private:
  void reach(i64 end) {
    for (i64 before = written_; before < end && !written_.compare_exchange_weak(before, end);) {
    }
  }
  std::unique_ptr<Storage> inner_;
  std::atomic<i64> size_{-1};      // set here; -1: the file's
  std::atomic<i64> written_{0};    // end of what was written here
};

}  // namespace

std::unique_ptr<Storage> make_dry(std::unique_ptr<Storage> inner) { return std::make_unique<Dry>(std::move(inner)); }

}  // namespace mercutio
