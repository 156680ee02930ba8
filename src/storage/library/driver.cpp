// A driver that somebody else has written, as a Driver, and a file of it as a Storage. What the library has no function for is
// done here. Each call of the library is guarded: an exception becomes an Error. What a library says of itself is checked before
// anything relies on it.
//
// Cost: a call of the library for each piece, or for each extents_per_call of them, and one more at the end of a file.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "base/attempt.h"
#include "base/thread_annotations.h"
#include "storage/drivers.h"
#include "storage/finished_transfer.h"
#include "storage/library/library.h"
#include "storage/library/traits.h"
#include "storage/names.h"
#include "storage/transfer_pool.h"

namespace mercutio {
namespace {

constexpr size_t kMostHandleBytes = 4096;

// The functions of a loaded library.
struct Library {
  std::string name;
  mercutio_driver calls{};

  // 0, or an Error. A call that was interrupted is made again.
  template <class Call>
  Status run(const char* what, Call call, i64 offset = -1, i64 bytes = -1) const {
    int code = 0;
    Status called = attempt([&] {
      do {
        code = call();
      } while (code == EINTR);
      return ok_status();
    });
    if (!called) return threw(what, std::move(called).error(), offset, bytes);
    return code == 0 ? ok_status() : Status(error(what, code, offset, bytes));
  }
  Error threw(const char* what, Error thrown, i64 offset = -1, i64 bytes = -1) const {
    Error error = driver_threw(name, what, std::move(thrown));
    error.offset = offset;
    error.bytes = bytes;
    return error;
  }
  Error error(const char* what, int code, i64 offset = -1, i64 bytes = -1) const {
    Error error = driver_error(name, what, code, calls.explain);
    error.offset = offset;
    error.bytes = bytes;
    return error;
  }
  Error can_not(const std::string& what) const {
    return Error{ErrorClass::kUnsupportedOperation, "driver " + name + " can't " + what, EOPNOTSUPP};
  }
  Error defect(const std::string& what) const {
    return driver_defect(name, what);
  }
};
using LibraryRef = std::shared_ptr<const Library>;

// An open file. Closed once: by close(), or with the last transfer that uses it.
class LibraryFile {
 public:
  LibraryFile(LibraryRef library, mercutio_driver_file* file, bool keeps_writes) : library_(std::move(library)), file_(file), keeps_writes_(keeps_writes) {}
  ~LibraryFile() { (void)close(); }
  LibraryFile(const LibraryFile&) = delete;
  LibraryFile& operator=(const LibraryFile&) = delete;

  const Library& library() const { return *library_; }
  const mercutio_driver& calls() const { return library_->calls; }
  mercutio_driver_file* get() const { return file_; }
  TransferCount& transfers() { return transfers_; }
  // A lock that another process or a server grants need not order what threads of this process do under it. These two do: after a lock was
  // taken, and before it is given back.
  void lock_taken() const { (void)locks_.load(std::memory_order_acquire); }
  void lock_ends() { locks_.fetch_add(1, std::memory_order_release); }

  Status flush() const {
    return keeps_writes_ ? library_->run("flush", [&] { return calls().flush(file_); }) : ok_status();
  }
  Status close() {
    transfers_.wait();
    if (!file_) return Error{ErrorClass::kFile, "the file is closed already", EBADF};
    mercutio_driver_file* const file = std::exchange(file_, nullptr);
    int code = 0;
    Status called = attempt([&] {
      code = calls().close(file);
      return ok_status();
    });
    if (!called) return library_->threw("close", std::move(called).error());
    return code == 0 ? ok_status() : Status(library_->error("close", code));
  }

 private:
  const LibraryRef library_;
  mercutio_driver_file* file_;
  const bool keeps_writes_;
  TransferCount transfers_;
  std::atomic<i64> locks_{0};
};
using FileRef = std::shared_ptr<LibraryFile>;

bool is_valid(const IoPiece& piece) {
  return piece.offset >= 0 && piece.bytes >= 0 && piece.offset <= std::numeric_limits<i64>::max() - piece.bytes;
}

// The pieces that are left, as the extents of one call after the other.
class Extents {
 public:
  Extents(std::span<const IoPiece> pieces, i64 per_call) : pieces_(pieces), per_call_(per_call) { list_.reserve(static_cast<size_t>(std::min(per_call, i64(pieces.size())))); }

  // Those of the next call; none: all is moved.
  std::span<const mercutio_driver_extent> next() {
    list_.clear();
    i64 done = done_;
    for (size_t at = at_; at < pieces_.size() && static_cast<i64>(list_.size()) < per_call_; ++at, done = 0) {
      const IoPiece& piece = pieces_[at];
      if (piece.bytes > done) list_.push_back({piece.offset + done, piece.data + done, piece.bytes - done});
    }
    return list_;
  }
  i64 bytes() const {
    i64 total = 0;
    for (const mercutio_driver_extent& extent : list_) total += extent.bytes;
    return total;
  }
  void advance(i64 moved) {
    while (at_ < pieces_.size() && moved >= pieces_[at_].bytes - done_) {
      moved -= pieces_[at_].bytes - done_;
      done_ = 0;
      ++at_;
    }
    done_ += moved;
  }

 private:
  const std::span<const IoPiece> pieces_;
  const i64 per_call_;
  size_t at_ = 0;    // the first piece that isn't moved, and how much of it is
  i64 done_ = 0;
  std::vector<mercutio_driver_extent> list_;
};

Result<i64> transfer(const LibraryFile& file, Direction direction, std::span<const IoPiece> pieces, i64 per_call) {
  const bool reading = direction == Direction::kRead;
  const char* const what = reading ? "read" : "write";
  for (const IoPiece& piece : pieces)
    if (!is_valid(piece)) return Error{ErrorClass::kArg, "a transfer outside of what a file can hold", EINVAL, piece.offset, piece.bytes};
  Extents extents(pieces, per_call);
  i64 total = 0;
  for (auto list = extents.next(); !list.empty(); list = extents.next()) {
    i64 moved = 0;
    const i64 asked = extents.bytes();
    const auto call = [&] {
      moved = 0;
      return (reading ? file.calls().read : file.calls().write)(file.get(), list.data(), list.size(), &moved);
    };
    if (Status ran = file.library().run(what, call, list[0].offset, list[0].bytes); !ran) return std::move(ran).error().behind(total);
    if (moved < 0 || moved > asked) {
      Error wild = file.library().defect(std::string(what) + " of " + std::to_string(asked) + " bytes says that it moved " + std::to_string(moved));
      wild.offset = list[0].offset;
      wild.bytes = asked;
      return wild;
    }
    if (moved == 0 && reading) return total;   // the end of the file
    if (moved == 0) return file.library().error(what, EIO, list[0].offset, list[0].bytes).behind(total);
    total += moved;
    extents.advance(moved);
  }
  return total;
}

class LibraryLock final : public HeldLock {
 public:
  explicit LibraryLock(FileRef file) : file_(std::move(file)) {}
  ~LibraryLock() override { (void)release(); }
  void hold(void* lock) {
    lock_ = lock;
    held_ = true;
    file_->lock_taken();
  }
  // Others see what was written under it, as far as that depends on this process.
  Status release() override {
    if (!std::exchange(held_, false) || !file_->get()) return ok_status();
    Status flushed = file_->flush();
    file_->lock_ends();
    Status unlocked = file_->library().run("unlock", [&] { return file_->calls().unlock(file_->get(), lock_); });
    return flushed ? unlocked : flushed;
  }

 private:
  const FileRef file_;
  void* lock_ = nullptr;   // the library's; may be null
  bool held_ = false;
};

class LibraryStorage final : public Storage {
 public:
  LibraryStorage(FileRef file, const mercutio_driver_traits& given, const OpenOptions& options, std::shared_ptr<TransferPool> pool)
      : file_(std::move(file)),
        pool_(std::move(pool)),
        traits_(traits_from(file_->library().name, file_->calls(), given)),
        per_call_(std::clamp<i64>(given.extents_per_call, 1, 1 << 20)),
        readable_(options.read),
        writable_(options.write),
        publishes_(options.write && traits_.coherence == Coherence::kAfterPublish),
        alone_(options.group.size <= 1) {
    if (given.stripe_bytes <= 0) return;
    layout_.stripe_bytes = given.stripe_bytes;
    layout_.stripe_count = std::max<i64>(1, given.stripe_count);
    layout_.first_server = given.first_server;
  }

  Result<i64> read(std::span<const IoPiece> pieces) override {
    if (!readable_) return error_from_errno("read", EBADF);
    return transfer(*file_, Direction::kRead, pieces, per_call_);
  }
  Result<i64> write(std::span<const IoPiece> pieces) override {
    if (!writable_) return error_from_errno("write", EBADF);
    return transfer(*file_, Direction::kWrite, pieces, per_call_);
  }
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override {
    if (direction == Direction::kRead ? !readable_ : !writable_) return Storage::start(direction, std::move(pieces));
    auto running = TransferCount::begin({file_, &file_->transfers()});
    return pool_->start([running = std::move(running), file = file_, direction, pieces = std::move(pieces), per_call = per_call_] {
      return transfer(*file, direction, pieces, per_call);
    });
  }

  Result<i64> size() override {
    i64 bytes = -1;
    MERCUTIO_TRY(call("get_size", [&](auto* file) { return calls().get_size(file, &bytes); }));
    return bytes >= 0 ? Result<i64>(i64{bytes}) : Result<i64>(file_->library().defect("get_size says " + std::to_string(bytes)));
  }
  Status set_size(i64 bytes) override {
    if (bytes < 0 || !writable_) return error_from_errno("set_size", EINVAL);
    MERCUTIO_TRY(flush());
    if (calls().set_size) return call("set_size", [&](auto* file) { return calls().set_size(file, bytes); });
    MERCUTIO_LET(const i64 now, size());
    return bytes < now ? Status(file_->library().can_not("make a file shorter")) : lengthen(now, bytes);
  }
  Status preallocate(i64 bytes) override {
    if (bytes < 0 || !writable_) return error_from_errno("preallocate", EINVAL);
    if (calls().preallocate) return call("preallocate", [&](auto* file) { return calls().preallocate(file, bytes); });
    MERCUTIO_LET(const i64 now, size());
    if (bytes <= now) return ok_status();
    return calls().set_size ? set_size(bytes) : lengthen(now, bytes);
  }
  Status sync() override {
    MERCUTIO_TRY(sync_here());
    return alone_ ? publish(/*keep=*/true, /*last=*/false) : ok_status();
  }
  Status publish(bool keep, bool last) override {
    if (!publishes_ || published_last_) return ok_status();
    published_last_ = last;
    const uint32_t flags = (keep ? 0 : MERCUTIO_DRIVER_PUBLISH_DISCARD) | (last ? MERCUTIO_DRIVER_PUBLISH_LAST : 0);
    return call("publish", [&](auto* file) { return calls().publish(file, flags); });
  }
  Status begin_turn(i64 turn) override {
    if (!publishes_) return ok_status();
    return call("begin_turn", [&](auto* file) { return calls().begin_turn(file, turn); });
  }
  Status flush() override { return file_->flush(); }
  Status refresh() override {
    return calls().refresh ? call("refresh", [&](auto* file) { return calls().refresh(file); }) : ok_status();
  }
  Status close() override {
    Status published = ok_status();
    if (alone_ && publishes_ && !published_last_) {
      file_->transfers().wait();
      published = sync_here();
      Status done = publish(published.ok(), /*last=*/true);
      if (published) published = std::move(done);
    }
    Status closed = file_->close();
    return published ? closed : published;
  }

  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override { return take(begin, end, exclusive, true); }
  Result<std::unique_ptr<HeldLock>> try_lock(i64 begin, i64 end, bool exclusive) override { return take(begin, end, exclusive, false); }

  const Traits& traits() const override { return traits_; }
  Layout layout() override { return layout_; }
  Result<std::vector<std::byte>> shared_handle() override {
    std::vector<std::byte> bytes;
    if (!calls().get_handle) return bytes;
    bytes.resize(kMostHandleBytes);
    size_t count = 0;
    MERCUTIO_TRY(call("get_handle", [&](auto* file) { return calls().get_handle(file, bytes.data(), bytes.size(), &count); }));
    if (count > bytes.size()) return file_->library().defect("get_handle says that it wrote " + std::to_string(count) + " bytes");
    bytes.resize(count);
    return bytes;
  }

 private:
  const mercutio_driver& calls() const { return file_->calls(); }
  Status sync_here() {
    return calls().sync ? call("sync", [&](auto* file) { return calls().sync(file); }) : ok_status();
  }
  template <class Call>
  Status call(const char* what, Call made) {
    return file_->library().run(what, [&] { return made(file_->get()); });
  }
  // The bytes between are a hole.
  Status lengthen(i64 now, i64 bytes) {
    if (bytes <= now) return ok_status();
    std::byte zero{0};
    const IoPiece last{bytes - 1, &zero, 1};
    MERCUTIO_TRY(write({&last, 1}));
    return ok_status();
  }
  Result<std::unique_ptr<HeldLock>> take(i64 begin, i64 end, bool exclusive, bool waits) {
    if (!traits_.can_lock) return file_->library().can_not("lock parts of this file: avoid atomic mode and write sieving");
    if (begin < 0 || begin > end) return Error{ErrorClass::kArg, "a lock outside of what a file can hold", EINVAL, begin};
    if (begin == end) return std::unique_ptr<HeldLock>(std::make_unique<NoLock>());
    exclusive = (exclusive || !readable_) && writable_;
    auto held = std::make_unique<LibraryLock>(file_);   // before there is anything to give back
    void* lock = nullptr;
    const mercutio_driver_range range{sizeof range, begin, end, exclusive ? 1 : 0, waits ? 1 : 0};
    const auto made = [&] { return calls().lock(file_->get(), &range, &lock); };
    if (const Status taken = file_->library().run("lock", made, begin, end - begin); !taken) {
      const bool busy = !waits && taken.error().sys_errno == EAGAIN;
      return busy ? Result<std::unique_ptr<HeldLock>>(std::unique_ptr<HeldLock>()) : Result<std::unique_ptr<HeldLock>>(taken.error());
    }
    held->hold(lock);
    return std::unique_ptr<HeldLock>(std::move(held));
  }

  const FileRef file_;
  const std::shared_ptr<TransferPool> pool_;
  const Traits traits_;
  const i64 per_call_;
  const bool readable_, writable_, publishes_, alone_;
  bool published_last_ = false;
  Layout layout_;
};

mercutio_driver_options options_from(const OpenOptions& options, const mercutio_driver& calls) {
  mercutio_driver_options wanted{};
  wanted.size = sizeof wanted;
  wanted.flags = (options.read ? MERCUTIO_DRIVER_READ : 0) | (options.write ? MERCUTIO_DRIVER_WRITE : 0) |
                 (options.create ? MERCUTIO_DRIVER_CREATE : 0) | (options.create && options.exclusive ? MERCUTIO_DRIVER_EXCLUSIVE : 0);
  if (options.keeps_writes && options.write && calls.flush) wanted.flags |= MERCUTIO_DRIVER_KEEP_WRITES;
  wanted.permissions = static_cast<uint32_t>(options.permissions);
  wanted.stripe_bytes = std::max<i64>(0, options.wanted_layout.stripe_bytes);
  wanted.stripe_count = std::max<i64>(0, options.wanted_layout.stripe_count);
  wanted.rank = options.group.rank;
  wanted.ranks = options.group.size;
  wanted.handle = options.handle.empty() ? nullptr : options.handle.data();
  wanted.handle_bytes = options.handle.size();
  return wanted;
}

class LibraryDriver final : public Driver, public Names {
 public:
  explicit LibraryDriver(const std::string& name) : name_(name) {}
  const char* name() const override { return name_.c_str(); }

  Status load() override {
    MERCUTIO_TRY(library());
    return ok_status();
  }

  Result<std::unique_ptr<Storage>> open(const std::string& path, const OpenOptions& options) override {
    MERCUTIO_LET(const LibraryRef loaded, library());
    const mercutio_driver_options wanted = options_from(options, loaded->calls);
    mercutio_driver_file* opened = nullptr;
    MERCUTIO_TRY(loaded->run("open", [&] { return loaded->calls.open(path.c_str(), &wanted, &opened); }));
    if (!opened) return loaded->defect("open gave no file");
    auto storage = attempt([&] { return storage_of(loaded, opened, wanted, options); });
    // The caller can't tell that the file was made, so it is taken back here.
    const bool made = (wanted.flags & MERCUTIO_DRIVER_EXCLUSIVE) != 0;
    if (!storage && made && loaded->calls.remove) (void)loaded->run("remove", [&] { return loaded->calls.remove(path.c_str()); });
    return storage;
  }

  Status remove(const std::string& path) override {
    MERCUTIO_LET(const LibraryRef loaded, library());
    if (!loaded->calls.remove) return loaded->can_not("delete files");
    return loaded->run("remove", [&] { return loaded->calls.remove(path.c_str()); });
  }

  bool can_look() override { return has([](const mercutio_driver& calls) { return calls.look != nullptr; }); }
  bool can_rename() override { return has([](const mercutio_driver& calls) { return calls.rename != nullptr; }); }
  Result<NamedFile> look(const std::string& path) override {
    MERCUTIO_LET(const LibraryRef loaded, library());
    if (!loaded->calls.look) return loaded->can_not("look at names");
    mercutio_driver_entry entry{};
    const auto ask = [&] {
      entry = {};
      entry.size = sizeof entry;
      return loaded->calls.look(path.c_str(), &entry);
    };
    MERCUTIO_TRY(loaded->run("look", ask));
    return named(entry, path.substr(path.rfind('/') + 1), *loaded);
  }
  Status list(const std::string& path, const std::function<bool(NamedFile)>& take) override {
    MERCUTIO_LET(const LibraryRef loaded, library());
    if (!loaded->calls.list) return loaded->can_not("list folders");
    Listing listing{*loaded, take, ok_status()};
    MERCUTIO_TRY(loaded->run("list", [&] { return loaded->calls.list(path.c_str(), &Listing::take, &listing); }));
    return listing.failed;
  }
  Status rename(const std::string& path, const std::string& other, bool replace) override {
    MERCUTIO_LET(const LibraryRef loaded, library());
    if (!loaded->calls.rename) return loaded->can_not("rename files");
    return loaded->run("rename", [&] { return loaded->calls.rename(path.c_str(), other.c_str(), replace ? 0 : MERCUTIO_DRIVER_EXCLUSIVE); });
  }
  Status make_folder(const std::string& path) override {
    MERCUTIO_LET(const LibraryRef loaded, library());
    if (!loaded->calls.make_folder) return loaded->can_not("make folders");
    return loaded->run("make_folder", [&] { return loaded->calls.make_folder(path.c_str()); });
  }
  Status remove_folder(const std::string& path) override {
    MERCUTIO_LET(const LibraryRef loaded, library());
    if (!loaded->calls.remove_folder) return loaded->can_not("delete folders");
    return loaded->run("remove_folder", [&] { return loaded->calls.remove_folder(path.c_str()); });
  }

 private:
  // Of an open file, which is closed where its traits can't be used.
  Result<std::unique_ptr<Storage>> storage_of(const LibraryRef& loaded, mercutio_driver_file* opened, const mercutio_driver_options& wanted,
                                              const OpenOptions& options) {
    mercutio_driver_traits traits = default_traits(loaded->calls);
    Status asked = ok_status();
    if (loaded->calls.get_traits) asked = loaded->run("get_traits", [&] { return loaded->calls.get_traits(opened, &traits); });
    const bool may_keep = (wanted.flags & MERCUTIO_DRIVER_KEEP_WRITES) != 0;
    auto file = std::make_shared<LibraryFile>(loaded, opened, may_keep && traits.keeps_writes != 0);
    MERCUTIO_TRY(asked);
    MERCUTIO_TRY(check_traits(loaded->name, traits));
    if (traits.keeps_writes != 0 && !may_keep) return loaded->defect("it keeps writes that it was not asked to keep");
    if (traits.seen == MERCUTIO_DRIVER_SEEN_AFTER_PUBLISH && !(loaded->calls.publish && loaded->calls.begin_turn))
      return loaded->defect("it has no publish or begin_turn");
    return std::unique_ptr<Storage>(std::make_unique<LibraryStorage>(std::move(file), traits, options, pools_.of(options.io_threads)));
  }
  // Its `take` is called by the library, so that no exception leaves it.
  struct Listing {
    const Library& library;
    const std::function<bool(NamedFile)>& wanted;
    Status failed;
    static int take(void* to, const mercutio_driver_entry* entry) {
      auto& self = *static_cast<Listing*>(to);
      bool more = false;
      self.failed = attempt([&]() -> Status {
        mercutio_driver_entry known{};
        std::memcpy(&known, entry, std::min(entry->size, sizeof known));
        if (!known.name || !*known.name || std::strchr(known.name, '/')) return self.library.defect("list gave no name");
        MERCUTIO_LET(NamedFile file, named(known, known.name, self.library));
        more = self.wanted(std::move(file));
        return ok_status();
      });
      return self.failed && more ? 0 : 1;
    }
  };
  static Result<NamedFile> named(const mercutio_driver_entry& entry, std::string name, const Library& library) {
    if (entry.bytes < 0) return library.defect("a file has " + std::to_string(entry.bytes) + " bytes");
    return NamedFile{std::move(name), entry.is_folder != 0, entry.is_folder ? 0 : entry.bytes, std::max<i64>(0, entry.modified_ns), entry.file_number};
  }
  template <class Has>
  bool has(Has has) {
    const auto loaded = library();
    return loaded && has((*loaded)->calls);
  }
  // What failed is tried again: a library may be installed while the program runs.
  Result<LibraryRef> library() {
    std::lock_guard guard(mutex_);
    if (!library_) {
      MERCUTIO_LET(const mercutio_driver calls, load_driver(name_));
      library_ = std::make_shared<const Library>(Library{name_, calls});
    }
    return library_;
  }

  const std::string name_;
  TransferPools pools_;
  std::mutex mutex_;
  LibraryRef library_ MERCUTIO_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Driver> make_library_driver(const std::string& name) {
  return std::make_unique<LibraryDriver>(name);
}

}  // namespace mercutio
