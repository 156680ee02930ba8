// The memory driver: named files inside the process, shared by all Storage objects that open the same name, until
// removed and closed. Pages are made when written, so a write far out costs a page. Other processes don't see these
// files.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/thread_annotations.h"
#include "storage/drivers.h"
#include "storage/range_locks.h"

namespace mercutio {
namespace {

constexpr i64 kPageBytes = 64 * KiB;

struct MemoryFile {
  using Page = std::array<std::byte, kPageBytes>;
  std::shared_mutex mutex;
  std::map<i64, std::unique_ptr<Page>> pages;  // by number; a missing one is a hole
  i64 size = 0;
  RangeLocks locks;
  RangeLocks marks;   // of writers

  // Calls part(page number, offset in the page, offset in the piece, bytes).
  template <class Part>
  static void each_page(i64 offset, i64 bytes, Part part) {
    for (i64 done = 0; done < bytes;) {
      const i64 in_page = (offset + done) % kPageBytes;
      const i64 length = std::min(kPageBytes - in_page, bytes - done);
      part((offset + done) / kPageBytes, in_page, done, length);
      done += length;
    }
  }
  void shrink(i64 bytes) {
    pages.erase(pages.lower_bound((bytes + kPageBytes - 1) / kPageBytes), pages.end());
    const auto last = pages.find(bytes / kPageBytes);
    if (last != pages.end())
      std::memset(last->second->data() + bytes % kPageBytes, 0, static_cast<size_t>(kPageBytes - bytes % kPageBytes));
  }
};

class MemoryLock final : public HeldLock {
 public:
  MemoryLock(std::shared_ptr<MemoryFile> file, RangeLocks& locks) : file_(std::move(file)), locks_(locks) {}
  ~MemoryLock() override {
    if (held_) locks_.release(*held_);
  }
  bool hold(std::optional<RangeLocks::Ticket> ticket) {
    held_ = ticket;
    return held_.has_value();
  }

 private:
  const std::shared_ptr<MemoryFile> file_;
  RangeLocks& locks_;   // the file's
  std::optional<RangeLocks::Ticket> held_;
};

bool is_valid(const IoPiece& piece) {
  return piece.offset >= 0 && piece.bytes >= 0 && piece.offset <= std::numeric_limits<i64>::max() - piece.bytes;
}
Error bad_piece(const IoPiece& piece) {
  return Error{ErrorClass::kArg, "a transfer outside of what a file can hold", EINVAL, piece.offset, piece.bytes};
}

class MemoryStorage final : public Storage {
 public:
  MemoryStorage(std::shared_ptr<MemoryFile> file, const OpenOptions& options)
      : file_(std::move(file)), readable_(options.read), writable_(options.write), group_(drawn(options.group)) {
    traits_.file_system = "memory";
    traits_.block_bytes = kPageBytes;
    if (!writable_) return;
    const MarkRange mine = mark_of(group_);
    auto mark = std::make_unique<MemoryLock>(file_, file_->marks);
    mark->hold(file_->marks.acquire(mine.begin, mine.end, /*exclusive=*/true));
    mark_ = std::move(mark);
  }

  Result<i64> read(std::span<const IoPiece> pieces) override {
    if (!readable_) return error_from_errno("read", EBADF);
    std::shared_lock guard(file_->mutex);
    i64 total = 0;
    for (const IoPiece& piece : pieces) {
      if (!is_valid(piece)) return bad_piece(piece);
      const i64 length = std::clamp<i64>(file_->size - piece.offset, 0, piece.bytes);
      MemoryFile::each_page(piece.offset, length, [&](i64 number, i64 in_page, i64 in_piece, i64 bytes) {
        const auto page = file_->pages.find(number);
        if (page == file_->pages.end())
          std::memset(piece.data + in_piece, 0, static_cast<size_t>(bytes));
        else
          std::memcpy(piece.data + in_piece, page->second->data() + in_page, static_cast<size_t>(bytes));
      });
      total += length;
      if (length < piece.bytes) break;
    }
    return total;
  }

  Result<i64> write(std::span<const IoPiece> pieces) override {
    if (!writable_) return error_from_errno("write", EBADF);
    std::unique_lock guard(file_->mutex);
    i64 total = 0;
    for (const IoPiece& piece : pieces) {
      if (!is_valid(piece)) return bad_piece(piece);
      MemoryFile::each_page(piece.offset, piece.bytes, [&](i64 number, i64 in_page, i64 in_piece, i64 bytes) {
        auto& page = file_->pages[number];
        if (!page) page = std::make_unique<MemoryFile::Page>();
        std::memcpy(page->data() + in_page, piece.data + in_piece, static_cast<size_t>(bytes));
      });
      if (piece.bytes > 0) file_->size = std::max(file_->size, piece.offset + piece.bytes);
      total += piece.bytes;
    }
    return total;
  }

  Result<i64> size() override {
    std::shared_lock guard(file_->mutex);
    return file_->size;
  }
  Status set_size(i64 bytes) override {
    if (bytes < 0 || !writable_) return error_from_errno("set_size", EINVAL);
    std::unique_lock guard(file_->mutex);
    if (bytes < file_->size) file_->shrink(bytes);
    file_->size = bytes;
    return ok_status();
  }
  Status preallocate(i64 bytes) override {
    if (bytes < 0 || !writable_) return error_from_errno("preallocate", EINVAL);
    std::unique_lock guard(file_->mutex);
    file_->size = std::max(file_->size, bytes);
    return ok_status();
  }
  Status sync() override { return ok_status(); }
  Status close() override {
    mark_.reset();
    return ok_status();
  }
  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override {
    auto lock = std::make_unique<MemoryLock>(file_, file_->locks);   // before there is anything to give back
    lock->hold(file_->locks.acquire(begin, end, exclusive));
    return std::unique_ptr<HeldLock>(std::move(lock));
  }
  Result<std::unique_ptr<HeldLock>> try_lock(i64 begin, i64 end, bool exclusive) override {
    auto lock = std::make_unique<MemoryLock>(file_, file_->locks);
    if (!lock->hold(file_->locks.try_acquire(begin, end, exclusive))) lock = nullptr;
    return std::unique_ptr<HeldLock>(std::move(lock));
  }
  std::unique_ptr<HeldLock> exclude_other_writers(bool /*promised*/) override {
    auto held = std::make_unique<HeldLocks>();
    for (const MarkRange& others : marks_of_others(group_)) {
      auto mark = std::make_unique<MemoryLock>(file_, file_->marks);
      if (!mark->hold(file_->marks.try_acquire(others.begin, others.end, /*exclusive=*/false))) return nullptr;
      held->add(std::move(mark));
    }
    return held;
  }
  const Traits& traits() const override { return traits_; }
  Layout layout() override { return {}; }

 private:
  std::shared_ptr<MemoryFile> file_;
  const bool readable_;
  const bool writable_;
  const WriterGroup group_;
  std::unique_ptr<HeldLock> mark_;
  Traits traits_;
};

class MemoryDriver final : public Driver {
 public:
  const char* name() const override { return "memory"; }

  // A writer waits for those who merge, and nobody for that writer.
  Result<std::unique_ptr<Storage>> open(const std::string& path, const OpenOptions& options) override {
    MERCUTIO_LET(std::shared_ptr<MemoryFile> file, file_of(path, options));
    return std::unique_ptr<Storage>(std::make_unique<MemoryStorage>(std::move(file), options));
  }
  Status remove(const std::string& path) override {
    std::lock_guard guard(mutex_);
    return files_.erase(path) == 1 ? ok_status() : Status(error_from_errno("remove", ENOENT));
  }

 private:
  Result<std::shared_ptr<MemoryFile>> file_of(const std::string& path, const OpenOptions& options) {
    std::lock_guard guard(mutex_);
    const auto known = files_.find(path);
    if (known != files_.end() && options.create && options.exclusive) return error_from_errno("open", EEXIST);
    if (known == files_.end() && !options.create) return error_from_errno("open", ENOENT);
    auto& file = files_[path];
    if (!file) file = std::make_shared<MemoryFile>();
    return file;
  }

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<MemoryFile>> files_ MERCUTIO_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Driver> make_memory_driver() {
  return std::make_unique<MemoryDriver>();
}

}  // namespace mercutio
