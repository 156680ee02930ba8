// The posix driver: a file of the operating system, on whatever it has mounted.
//
// Locks are open-file-description locks (each Storage has its own description) below a table of this object's ranges,
// as the kernel doesn't keep the threads of one description apart. A descriptor that can't be written grants shared
// locks only, one that can't be read exclusive ones only; a request for the other kind gets what there is.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>

#include "base/thread_annotations.h"
#include "storage/drivers.h"
#include "storage/finished_transfer.h"
#include "storage/locked.h"
#include "storage/posix/allocate.h"
#include "storage/posix/async_queue.h"
#include "storage/posix/client_locks.h"
#include "storage/posix/direct_read.h"
#include "storage/posix/file_system.h"
#include "storage/posix/layouts.h"
#include "storage/posix/lustre.h"
#include "storage/posix/names.h"
#include "storage/posix/transfer.h"
#include "storage/posix/turnstile.h"
#include "storage/range_locks.h"

namespace mercutio::posix {
namespace {

int open_retrying(const std::string& path, int flags, int permissions) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags, permissions);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

// Does not wait until somebody writes to a pipe.
int open_to_read(const std::string& path, int flags) {
  const int fd = open_retrying(path, flags | O_NONBLOCK, 0);
  if (fd < 0) return errno == EWOULDBLOCK ? open_retrying(path, flags, 0) : fd;   // another process has a lease of the file, and is asked to give it up
  (void)::fcntl(fd, F_SETFL, 0);
  return fd;
}

struct LockState {
  std::shared_ptr<OpenFd> fd;
  RangeLocks ranges;
  std::atomic<int> unreported{0};   // errno of an unlock that failed where nobody could be told
  Turnstile turnstile{kLockersTurn, unreported};

  // A lock that can't be given back would keep others waiting for ever: then the file is given up here. 0 or errno.
  int release(RangeLocks::Ticket ticket) {
    int failed = 0;
    ranges.release(ticket, [&](i64 begin, i64 end) {
      if (failed != 0 || fd->get() < 0) return;   // given up or closed: there is no lock any more
      failed = set_lock(fd->get(), F_OFD_SETLK, F_UNLCK, begin, end);
      if (failed != 0) give_up(fd->get());
    });
    return failed;
  }
};

// The marks of writers, as this descriptor holds them (storage/writer_group.h). Threads share what they hold of others' marks.
class MarkState {
 public:
  // `needed`: or nobody merges.
  MarkState(std::shared_ptr<LockState> locks, const WriterGroup& group, bool needed)
      : locks_(std::move(locks)), group_(group), needed_(needed), known_(!needed) {}

  // Whether there is nothing to mark.
  bool known() const { return known_.load(std::memory_order_acquire); }
  // Before each write. The first one waits for those who merge now. 0 or errno.
  int mark() {
    if (known()) return 0;
    const int failed = try_mark();
    return failed == EAGAIN ? turnstile_.hold_until(fd(), [&] { return try_mark(); }) : failed;
  }
  // 0, EAGAIN while another group merges, or errno. Also 0 where a program's lock keeps all marks away.
  int try_mark() {
    if (known()) return 0;
    const MarkRange mine = mark_of(group_);
    const int failed = set_lock(fd(), F_OFD_SETLK, F_WRLCK, mine.begin, mine.end);
    if (failed == 0) known_.store(true, std::memory_order_release);
    if (failed != EAGAIN && failed != EACCES) return failed;
    const struct flock holder = holder_of(fd(), F_WRLCK, mine.begin, mine.end);
    return holder.l_type == F_UNLCK || is_beyond_data(holder) ? EAGAIN : 0;
  }
  void release() {
    if (needed_ && known_.exchange(false)) release(mark_of(group_));
  }
  // Whether no other group has a mark or waits for one; until allow() none gets one.
  bool exclude() {
    if (!needed_ || try_mark() != 0 || !known_ || turnstile_.is_taken(fd())) return false;
    std::lock_guard guard(mutex_);
    if (excluding_ == 0 && !take()) return false;
    ++excluding_;
    return true;
  }
  void allow() {
    std::lock_guard guard(mutex_);
    if (--excluding_ > 0) return;
    for (const MarkRange& others : marks_of_others(group_)) release(others);
  }

 private:
  bool take() {
    for (const MarkRange& others : marks_of_others(group_)) {
      if (set_lock(fd(), F_OFD_SETLK, F_RDLCK, others.begin, others.end) == 0) continue;
      release(marks_of_others(group_)[0]);
      return false;
    }
    return true;
  }
  void release(MarkRange range) {
    if (fd() < 0) return;
    const int failed = set_lock(fd(), F_OFD_SETLK, F_UNLCK, range.begin, range.end);
    if (failed == 0) return;
    give_up(fd());   // or others could not write to the file
    locks_->unreported = failed;
  }
  int fd() const { return locks_->fd->get(); }

  const std::shared_ptr<LockState> locks_;
  const WriterGroup group_;
  const bool needed_;
  std::atomic<bool> known_;   // the mark is held
  Turnstile turnstile_{kWritersTurn, locks_->unreported};
  std::mutex mutex_;
  i64 excluding_ = 0;   // who holds an exclusion now
};

Error failed_unlock(int cause) {
  return Error{ErrorClass::kIo, "a lock could not be given back: the file was given up, and all its locks with it", cause};
}

class PosixLock final : public HeldLock {
 public:
  explicit PosixLock(std::shared_ptr<LockState> state) : state_(std::move(state)) {}
  ~PosixLock() override {
    if (const int failed = give_back(); failed != 0) state_->unreported = failed;
  }
  void hold(RangeLocks::Ticket ticket) { held_ = ticket; }
  Status release() override {
    const int failed = give_back();
    return failed == 0 ? ok_status() : Status(failed_unlock(failed));
  }

 private:
  int give_back() {
    const auto held = std::exchange(held_, std::nullopt);
    return held ? state_->release(*held) : 0;
  }

  std::shared_ptr<LockState> state_;
  std::optional<RangeLocks::Ticket> held_;
};

class Exclusion final : public HeldLock {
 public:
  explicit Exclusion(std::shared_ptr<MarkState> state) : state_(std::move(state)) {}
  ~Exclusion() override { state_->allow(); }

 private:
  const std::shared_ptr<MarkState> state_;
};

Traits traits_with(OpenFd& fd, const OpenOptions& options, const char* transfers) {
  Traits traits = traits_of(fd.get());
  make_coherent(fd.get(), options.coherence, traits);
  traits.keeps_writes = options.write && options.keeps_writes && client_keeps_data(traits);
  fd.set_direct((::fcntl(fd.get(), F_GETFL) & O_DIRECT) != 0);
  traits.transfers = transfers;
  return traits;
}

constexpr struct flock kNobody = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0};

class PosixStorage final : public Storage {
 public:
  PosixStorage(std::shared_ptr<OpenFd> fd, const OpenOptions& options, std::shared_ptr<AsyncQueue> queue)
      : fd_(std::move(fd)),
        options_(options),
        queue_(std::move(queue)),
        traits_(traits_with(*fd_, options, queue_->name())),
        client_keeps_(client_keeps_data(traits_)),
        locks_(std::make_shared<LockState>()),
        marks_(std::make_shared<MarkState>(locks_, drawn(options.group), options.write && traits_.can_lock && !traits_.metadata_is_remote)) {
    locks_->fd = fd_;
    if (traits_.metadata_is_remote) locks_->turnstile.set_period(kServerTurnNs);
  }

  Result<i64> read(std::span<const IoPiece> pieces) override {
    return client_keeps_ || fd_->direct() ? read_with_care(pieces) : transfer(fd_->get(), Direction::kRead, pieces);
  }
  Result<i64> write(std::span<const IoPiece> pieces) override {
    return client_keeps_ || !marks_->known() ? write_with_care(pieces) : transfer(fd_->get(), Direction::kWrite, pieces);
  }
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override {
    if (direction == Direction::kRead) {
      auto fd = to_read();
      return fd ? queue_->start(std::move(*fd), direction, std::move(pieces)) : finished_transfer(std::move(fd).error());
    }
    if (client_keeps_ && !traits_.keeps_writes) return finished_transfer(write(pieces));
    const Status shown = show_as_writer();
    if (!shown) return finished_transfer(shown.error());
    return queue_->start(fd_, direction, std::move(pieces));
  }
  Status flush() override { return traits_.keeps_writes ? sync() : ok_status(); }

  Result<i64> size() override { return size_of(fd_->get(), traits_.metadata_is_remote); }

  Status set_size(i64 bytes) override {
    if (bytes < 0) return Error{ErrorClass::kArg, "a negative size", EINVAL};
    MERCUTIO_TRY(show_as_writer());
    int failed = 0;
    do {
      failed = ::ftruncate(fd_->get(), bytes) == 0 ? 0 : errno;
    } while (failed == EINTR);
    return failed == 0 ? ok_status() : Status(error_from_errno("ftruncate", failed, bytes));
  }

  // Where it is done by writing, a client may keep the end to itself (MooseFS), and all ranks are to know the size.
  Status preallocate(i64 bytes) override {
    MERCUTIO_TRY(show_as_writer());
    MERCUTIO_TRY(allocate(fd_->get(), bytes));
    return traits_.way == CoherenceWay::kDirect ? sync() : ok_status();
  }

  Status sync() override {
    int failed = 0;
    do {
      failed = ::fsync(fd_->get()) == 0 ? 0 : errno;
    } while (failed == EINTR);
    if (failed == 0 || failed == EINVAL || failed == EROFS) return ok_status();  // nothing there that could be unsaved
    return error_from_errno("fsync", failed);
  }

  // Where nothing makes this coherent, to forget the pages is what a process can do.
  Status refresh() override {
    if (traits_.coherence != Coherence::kImmediate) ::posix_fadvise(fd_->get(), 0, 0, POSIX_FADV_DONTNEED);
    return ok_status();
  }

  // O_DIRECT passes the pages of this node's other programs. Some clients (GlusterFS) keep them even when the file is opened again.
  Status close() override {
    fd_->wait_for_transfers();   // a started write needs its mark to the end
    if (options_.write && traits_.way == CoherenceWay::kDirect) ::posix_fadvise(fd_->get(), 0, 0, POSIX_FADV_DONTNEED);
    marks_->release();   // a child process may have the descriptor, too
    Status closed = fd_->close();
    const int failed = locks_->unreported;
    return closed && failed != 0 ? Status(failed_unlock(failed)) : closed;
  }

  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override { return lock_range(begin, end, exclusive, true); }
  Result<std::unique_ptr<HeldLock>> try_lock(i64 begin, i64 end, bool exclusive) override {
    return lock_range(begin, end, exclusive, false);
  }
  void will_write(std::span<const IoPiece> ranges) override { client_locks_.will_write(fd_->get(), ranges); }
  void give_back_locks(bool of_all) override { client_locks_.give_back(fd_->get(), of_all, lock_group()); }
  std::unique_ptr<HeldLock> exclude_other_writers(bool promised) override {
    if (traits_.metadata_is_remote) return Storage::exclude_other_writers(promised);
    return options_.read && marks_->exclude() ? std::make_unique<Exclusion>(marks_) : nullptr;
  }

  const Traits& traits() const override { return traits_; }
  // Asked for at each collective access. A file gets its servers once, or range by range as it grows: then it is read again, which
  // the client answers itself as long as it holds the layout's lock.
  Layout layout() override {
    if (told_.load(std::memory_order_acquire)) return layout_of_file_;
    std::lock_guard guard(layout_mutex_);
    if (traits_.file_system != "lustre") {
      if (!told_.load(std::memory_order_relaxed)) layout_of_file_ = query_layout(fd_->get(), traits_.file_system);
      told_.store(true, std::memory_order_release);
      return layout_of_file_;
    }
    if (layout_.stripe_bytes > 0 && !layout_.may_change()) return layout_;
    Layout now = lustre_layout(fd_->get());
    if (now.stripe_bytes > 0) layout_ = std::move(now);
    return layout_;
  }

 private:
  [[gnu::noinline]] Result<i64> read_with_care(std::span<const IoPiece> pieces) {
    MERCUTIO_LET(const std::shared_ptr<OpenFd> fd, to_read());
    const DirectRead reading(fd->direct());
    return transfer(fd->get(), Direction::kRead, pieces);
  }
  [[gnu::noinline]] Result<i64> write_with_care(std::span<const IoPiece> pieces) {
    MERCUTIO_TRY(show_as_writer());
    Result<i64> moved = transfer(fd_->get(), Direction::kWrite, pieces);
    if (client_keeps_ && !traits_.keeps_writes && moved) MERCUTIO_TRY(sync());
    return moved;
  }
  // The client keeps what an open has read, and is told late that another node has written. Another open reads anew.
  Result<std::shared_ptr<OpenFd>> to_read() const {
    if (!client_keeps_) return fd_;
    const int fd = open_again(fd_->get(), O_RDONLY);
    if (fd < 0) return error_from_errno("open", errno);
    auto opened = std::make_shared<OpenFd>(fd);
    opened->set_direct(true);
    return opened;
  }

  Result<std::unique_ptr<HeldLock>> lock_range(i64 begin, i64 end, bool exclusive, bool waits) {
    if (!traits_.can_lock) return no_locks();
    if (begin < 0 || begin > end) return Error{ErrorClass::kArg, "a lock outside of what a file can hold", EINVAL, begin};
    if (begin == end) return std::unique_ptr<HeldLock>(std::make_unique<NoLock>());
    exclusive = (exclusive || !options_.read) && options_.write;
    // Before the range: an open that merges waits for ranges, and an open without a mark waits for the merge to end.
    if (waits) MERCUTIO_TRY(show_as_writer());
    if (!waits && options_.write && marks_->try_mark() == EAGAIN) return std::unique_ptr<HeldLock>();
    if (!exclusive && locks_->turnstile.is_taken(fd_->get())) {
      if (!waits) return std::unique_ptr<HeldLock>();
      if (locks_->ranges.granted() == 0) locks_->turnstile.hold(fd_->get(), F_RDLCK, [] { return 0; });
    }
    auto lock = std::make_unique<PosixLock>(locks_);   // before there is anything to give back
    auto ticket = waits ? std::optional(locks_->ranges.acquire(begin, end, exclusive)) : locks_->ranges.try_acquire(begin, end, exclusive);
    if (!ticket) return std::unique_ptr<HeldLock>();
    const short type = exclusive ? F_WRLCK : F_RDLCK;
    int failed = set_lock(fd_->get(), F_OFD_SETLK, type, begin, end);
    const bool taken = failed == EAGAIN || failed == EACCES;
    const struct flock holder = taken ? holder_of(fd_->get(), type, begin, end) : kNobody;
    if (!exclusive && !traits_.metadata_is_remote && covers(holder, begin, end))
      failed = 0;   // nobody else has an exclusive one there, until the program gives its own back
    else if (holder.l_type != F_UNLCK && holder.l_pid == ::getpid() && locked_by_process(fd_->get(), type, begin, end))
      failed = EDEADLK;
    else if (taken && waits && exclusive && locks_->ranges.granted() == 1) {   // nothing but this
      locks_->ranges.release(*ticket);
      failed = locks_->turnstile.hold(fd_->get(), type, [&] {
        ticket = locks_->ranges.acquire(begin, end, exclusive);
        return set_lock(fd_->get(), F_OFD_SETLKW, type, begin, end);
      });
    } else if (taken && waits)
      failed = set_lock(fd_->get(), F_OFD_SETLKW, type, begin, end);
    if (failed == 0) {
      lock->hold(*ticket);
      return std::unique_ptr<HeldLock>(std::move(lock));
    }
    // With it goes what another range that overlapped it has left locked.
    if (lock_refused(failed)) locks_->ranges.release(*ticket);
    else if (const int lost = locks_->release(*ticket); lost != 0) return failed_unlock(lost);
    if (taken && !waits && failed != EDEADLK) return std::unique_ptr<HeldLock>();
    if (lock_refused(failed)) return no_locks();
    if (failed == EDEADLK)
      return Error{ErrorClass::kIo, "a lock would wait for itself: the program has locked these bytes by fcntl, or two processes wait for each other's ranges", failed,
                   begin, end - begin};
    return error_from_errno("fcntl(F_OFD_SETLKW)", failed, begin, end - begin);
  }

  // Above 0, and hardly that of another open.
  i64 lock_group() const { return std::max<i64>(1, options_.group.first_mark & 0x7fffffff); }

  // Where locks are messages to a server nobody merges unless a hint asks for it.
  Status show_as_writer() {
    const int failed = marks_->mark();
    return failed == 0 ? ok_status() : Status(error_from_errno("fcntl(F_OFD_SETLK)", failed));
  }
  Error no_locks() const {
    return Error{ErrorClass::kUnsupportedOperation,
                 "no byte-range locks on this file system (" + traits_.file_system +
                     "): mount it with locking, or avoid atomic mode and write sieving"};
  }

  std::shared_ptr<OpenFd> fd_;
  const OpenOptions options_;
  std::shared_ptr<AsyncQueue> queue_;
  const Traits traits_;
  const bool client_keeps_;
  std::shared_ptr<LockState> locks_;
  const std::shared_ptr<MarkState> marks_;
  ClientLocks client_locks_{traits_.file_system};
  std::mutex layout_mutex_;
  Layout layout_ MERCUTIO_GUARDED_BY(layout_mutex_);
  Layout layout_of_file_;               // other than Lustre's: it stays as the file was made. Written once, before told_ is set
  std::atomic<bool> told_{false};
};

class PosixDriver final : public Driver {
 public:
  const char* name() const override { return "posix"; }

  // On a network file system a node may answer from what it knew before: that a name isn't there, or which file it stood for.
  // That isn't the last word.
  Result<std::unique_ptr<Storage>> open(const std::string& path, const OpenOptions& options) override {
    constexpr int kTries = 4;
    auto opened = open_once(path, options);
    for (int tries = 1; tries < kTries && !opened; ++tries) {
      const int cause = opened.error().sys_errno;
      const bool outdated = (cause == ENOENT && tries == 1) || (cause == ESTALE && !options.exclusive);
      if (!outdated) break;
      refresh_names(path);
      opened = open_once(path, options);
    }
    return opened;
  }

  Status remove(const std::string& path) override {
    return ::unlink(path.c_str()) == 0 ? ok_status() : Status(error_from_errno("unlink", errno));
  }

  // Makes a storage of a descriptor that is open already; it is closed with it, or at once on an error.
  Result<std::unique_ptr<Storage>> adopt(int fd, const OpenOptions& options) {
    auto owned = std::make_shared<OpenFd>(fd);
    struct stat status {};
    if (::fstat(fd, &status) != 0) return error_from_errno("fstat", errno);
    if (S_ISDIR(status.st_mode)) return error_from_errno("open", EISDIR);
    if (!S_ISREG(status.st_mode) && ::lseek(fd, 0, SEEK_CUR) < 0 && errno == ESPIPE)
      return Error{ErrorClass::kUnsupportedOperation, "a pipe, socket or terminal can't be accessed at offsets (ESPIPE): use a regular file", ESPIPE};
    auto storage = std::make_unique<PosixStorage>(std::move(owned), options, queue(options));
    if (storage->traits().way == CoherenceWay::kLocks) return make_locked(std::move(storage));
    return std::unique_ptr<Storage>(std::move(storage));
  }

 private:
  Result<std::unique_ptr<Storage>> open_once(const std::string& path, const OpenOptions& options) {
    const int fd = open_descriptor(options, {[&](int flags) { return (flags & O_ACCMODE) == O_RDONLY ? open_to_read(path, flags) : open_retrying(path, flags, options.permissions); },
                                             [&] { return is_on_lustre(path); }, path});
    if (fd >= 0) {
      MERCUTIO_LET(auto storage, adopt(fd, options));
      const std::string& type = storage->traits().file_system;   // "unknown": the question was refused, perhaps because the file is gone
      if (!options.exclusive && (type.starts_with("fuse") || type == "unknown")) MERCUTIO_TRY(still_named(path, fd));
      return storage;
    }
    Error error = error_from_errno("open", errno);
    if (error.sys_errno == EINVAL) error.cls = ErrorClass::kBadFile;  // a name the file system can't have
    return error;
  }

  // A queue is shared by the files of the process that want the same one, and ends with the last of them. "auto" is the
  // pool: in the page cache io_uring was measured to be slower. Where there is no io_uring it is the pool, too.
  std::shared_ptr<AsyncQueue> queue(const OpenOptions& options) {
    std::lock_guard guard(mutex_);
    if (options.async_backend == AsyncBackend::kUring) {
      std::shared_ptr<AsyncQueue> queue = ring_.lock();
      if (!queue) ring_ = queue = make_uring_queue();
      if (queue) return queue;
    }
    return make_thread_queue(pools_.of(options.io_threads));
  }

  std::mutex mutex_;
  std::weak_ptr<AsyncQueue> ring_ MERCUTIO_GUARDED_BY(mutex_);
  TransferPools pools_;
};

}  // namespace
}  // namespace mercutio::posix

namespace mercutio {

std::unique_ptr<Driver> make_posix_driver() {
  return std::make_unique<posix::PosixDriver>();
}

int open_descriptor(const OpenOptions& options, const OpenCalls& calls) {
  int flags = O_CLOEXEC | O_NOCTTY | (options.write ? (options.read ? O_RDWR : O_WRONLY) : O_RDONLY);
  const Layout* wanted = &options.wanted_layout;
  bool wants_stripes = wanted->stripe_bytes > 0 || wanted->stripe_count > 0 || wanted->first_server >= 0 || !wanted->components.empty();
  const bool suggested = !wants_stripes && !options.suggested_layout.components.empty() && !calls.path.empty();
  if (options.create && (wants_stripes || suggested) && calls.is_on_lustre()) {
    if (suggested) wants_stripes = !posix::has_default_stripes(calls.path), wanted = &options.suggested_layout;
    const int fd = wants_stripes ? posix::create_striped(calls, flags, options.permissions, *wanted) : -1;
    if (wants_stripes && (fd >= 0 || errno != EEXIST || options.exclusive)) return fd;
  }
  if (options.create) flags |= O_CREAT;
  if (options.create && options.exclusive) flags |= O_EXCL;
  return calls.open(flags);
}

Result<std::unique_ptr<Storage>> adopt_descriptor(int fd, const OpenOptions& options) {
  return posix::PosixDriver().adopt(fd, options);
}

}  // namespace mercutio
