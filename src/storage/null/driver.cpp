// The null driver: writes are dropped, reads give zeros up to the size, which is kept per name inside the process.
// Every name exists. For measuring everything but the storage.
#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>

#include "base/thread_annotations.h"
#include "storage/drivers.h"
#include "storage/range_locks.h"
#include "storage/zeros.h"

namespace mercutio {
namespace {

struct NullFile {
  std::mutex mutex;
  i64 size = 0;
  RangeLocks locks;
};

class NullLock final : public HeldLock {
 public:
  NullLock(std::shared_ptr<NullFile> file, i64 begin, i64 end, bool exclusive)
      : file_(std::move(file)), ticket_(file_->locks.acquire(begin, end, exclusive)) {}
  ~NullLock() override { file_->locks.release(ticket_); }

 private:
  std::shared_ptr<NullFile> file_;
  RangeLocks::Ticket ticket_;
};

class NullStorage final : public Storage {
 public:
  explicit NullStorage(std::shared_ptr<NullFile> file) : file_(std::move(file)) { traits_.file_system = "null"; }

  Result<i64> read(std::span<const IoPiece> pieces) override {
    MERCUTIO_LET(const i64 end, size());
    return read_zeros(end, pieces);
  }
  Result<i64> write(std::span<const IoPiece> pieces) override {
    MERCUTIO_LET(const Dropped dropped, drop(pieces));
    MERCUTIO_TRY(preallocate(dropped.end));
    return dropped.bytes;
  }
  Result<i64> size() override {
    std::lock_guard guard(file_->mutex);
    return file_->size;
  }
  Status set_size(i64 bytes) override {
    if (bytes < 0) return error_from_errno("set_size", EINVAL);
    std::lock_guard guard(file_->mutex);
    file_->size = bytes;
    return ok_status();
  }
  Status preallocate(i64 bytes) override {
    if (bytes < 0) return error_from_errno("preallocate", EINVAL);
    std::lock_guard guard(file_->mutex);
    file_->size = std::max(file_->size, bytes);
    return ok_status();
  }
  Status sync() override { return ok_status(); }
  Status close() override { return ok_status(); }
  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override {
    return std::unique_ptr<HeldLock>(std::make_unique<NullLock>(file_, begin, end, exclusive));
  }
  std::unique_ptr<HeldLock> exclude_other_writers(bool /*promised*/) override { return std::make_unique<NoLock>(); }
  const Traits& traits() const override { return traits_; }
  Layout layout() override { return {}; }

 private:
  std::shared_ptr<NullFile> file_;
  Traits traits_;
};

class NullDriver final : public Driver {
 public:
  const char* name() const override { return "null"; }

  Result<std::unique_ptr<Storage>> open(const std::string& path, const OpenOptions&) override {
    std::lock_guard guard(mutex_);
    auto& file = files_[path];
    if (!file) file = std::make_shared<NullFile>();
    return std::unique_ptr<Storage>(std::make_unique<NullStorage>(file));
  }
  Status remove(const std::string& path) override {
    std::lock_guard guard(mutex_);
    files_.erase(path);
    return ok_status();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<NullFile>> files_ MERCUTIO_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Driver> make_null_driver() {
  return std::make_unique<NullDriver>();
}

}  // namespace mercutio
