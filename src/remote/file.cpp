#include "remote/file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <shared_mutex>

#include "base/thread_annotations.h"
#include "remote/cache.h"
#include "remote/host.h"
#include "storage/finished_transfer.h"

namespace mercutio::remote {
namespace {

Buffer message_of(const PlainRequest& request) {
  Buffer message;
  put_message(message, request);
  return message;
}

i64 bytes_of(std::span<const IoPiece> pieces) {
  i64 bytes = 0;
  for (const IoPiece& piece : pieces) bytes += std::max<i64>(0, piece.bytes);
  return bytes;
}

// Checks a size reported by the server against the range of file offsets.
Result<i64> believable_size(i64 bytes) {
  constexpr i64 kMost = i64{1} << 61;
  if (bytes >= 0 && bytes <= kMost) return bytes;
  return Error{ErrorClass::kIo, "the server says a size that no file has, " + std::to_string(bytes) + " bytes", EPROTO};
}

class JobTransfer final : public Transfer {
 public:
  explicit JobTransfer(std::shared_ptr<TransferJob> job) : job_(std::move(job)) {}
  ~JobTransfer() override { (void)job_->wait(); }
  bool done() override { return job_->done(); }
  Result<i64> wait() override { return job_->wait(); }

 private:
  std::shared_ptr<TransferJob> job_;
};

// The state of a file that its locks share.
struct FileState {
  std::shared_ptr<Session> session;
  u64 handle;
  WriteBehind behind;
  ReadAhead ahead;
  Pages pages;
  std::atomic<i64> locks{0};

  FileState(std::shared_ptr<Session> s, u64 h)
      : session(std::move(s)), handle(h), behind(session->connection().write_behind_bytes), ahead(session->connection().read_ahead_bytes) {
    session->file_opened();
  }
  ~FileState() { session->file_closed(); }
  // Whether no writes but those of write-behind are in flight, so that cached data stays valid until the next write.
  bool calm() {
    std::lock_guard guard(mutex_);
    std::erase_if(direct_, [](const auto& job) { return job->done(); });
    return direct_.empty();
  }
  void add_direct(std::shared_ptr<TransferJob> job) {
    std::lock_guard guard(mutex_);
    std::erase_if(direct_, [](const auto& known) { return known->done(); });
    direct_.push_back(std::move(job));
  }
  // Held shared while cached data is read or data is requested in advance, and exclusively while a write begins. Data requested
  // before the write is then discarded, and later requests wait for the write or know of it (calm). A waiting writer keeps new
  // readers out.
  std::shared_lock<std::shared_mutex> reading() {
    std::lock_guard turn(turn_);
    return std::shared_lock(kept_);
  }
  std::unique_lock<std::shared_mutex> changing() {
    std::lock_guard turn(turn_);
    return std::unique_lock(kept_);
  }
  void forget_reads() {
    ahead.forget();
    pages.forget();
  }
  FileState(const FileState&) = delete;
  FileState& operator=(const FileState&) = delete;

 private:
  std::mutex mutex_, turn_;
  std::shared_mutex kept_;
  std::vector<std::shared_ptr<TransferJob>> direct_;   // writes in flight from the program's memory
};

class RemoteLock final : public HeldLock {
 public:
  RemoteLock(std::shared_ptr<FileState> state, u64 lock) : state_(std::move(state)), lock_(lock) {
    const auto guard = state_->changing();
    ++state_->locks;
    state_->forget_reads();
  }
  // Does not wait for the reply: data written under the lock is at the server already.
  ~RemoteLock() override {
    state_->behind.finish_quietly();
    --state_->locks;
    PlainRequest request;
    request.target = lock_;
    state_->session->submit(std::make_shared<CallJob>(Kind::kUnlock, message_of(request)));
  }

 private:
  std::shared_ptr<FileState> state_;
  const u64 lock_;
};

class RemoteFile final : public RemoteStorage {
 public:
  RemoteFile(std::shared_ptr<FileState> state, const OpenReply& opened, i64 size, const OpenOptions& options)
      : state_(std::move(state)),
        known_size_(size),
        layout_(opened.layout),
        readable_(options.read),
        writable_(options.write),
        keeps_writes_(options.keeps_writes && state_->session->connection().write_behind_bytes > 0),
        reads_ahead_(options.reads_ahead && state_->session->connection().read_ahead_bytes > 0) {
    traits_.file_system = "mercutio";
    traits_.remote_cluster = traits_.metadata_is_remote = true;
    traits_.can_lock = opened.can_lock;
    traits_.coherence = opened.visibility_immediate && !keeps_writes_ ? Coherence::kImmediate : Coherence::kAfterOpen;
    traits_.block_bytes = std::max<i64>(1, opened.block_bytes);
  }
  ~RemoteFile() override {
    if (!closed_) state_->session->submit(std::make_shared<CallJob>(Kind::kClose, message_of(request())));
  }

  Result<i64> read(std::span<const IoPiece> pieces) override {
    std::shared_lock<std::shared_mutex> guard;
    if (reads_ahead_ && readable_) guard = state_->reading();
    if (guard && state_->locks == 0 && state_->calm()) {
      if (!state_->ahead.serves(pieces) && state_->pages.read(pieces)) return bytes_of(pieces);
      state_->behind.wait_for_overlaps(0, INT64_MAX);
      if (const auto moved = state_->ahead.read(*state_->session, state_->handle, pieces)) return *moved;
      if (const Pages::Range page = state_->pages.wanted(pieces); page.end > 0) {
        MERCUTIO_TRY(bring(page));
        if (state_->pages.read(pieces)) return bytes_of(pieces);
      }
    }
    if (guard) guard.unlock();
    MERCUTIO_LET(const auto job, begin(Direction::kRead, {pieces.begin(), pieces.end()}));
    return job ? job->wait() : Result<i64>(i64{0});
  }
  Result<i64> write(std::span<const IoPiece> pieces) override {
    if (!writable_) return error_from_errno("write", EBADF);
    if (keeps_writes_) return write_behind({pieces.begin(), pieces.end()});
    MERCUTIO_LET(const auto job, begin(Direction::kWrite, {pieces.begin(), pieces.end()}));
    return job ? job->wait() : Result<i64>(i64{0});
  }
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override {
    const i64 bytes = bytes_of(pieces);
    // Without room in write-behind the data is sent from the program's memory, which stays valid during the call.
    if (direction == Direction::kWrite && writable_ && keeps_writes_ && state_->behind.has_room(bytes))
      return finished_transfer(write_behind(std::move(pieces)));
    auto job = begin(direction, std::move(pieces));
    if (!job) return finished_transfer(job.error());
    if (!*job) return finished_transfer(i64{0});
    return std::make_unique<JobTransfer>(std::move(*job));
  }

  Result<i64> size() override {
    state_->behind.finish_quietly();
    MERCUTIO_LET(const Reply reply, state_->session->call(Kind::kSize, message_of(request())));
    MERCUTIO_LET(known_size_, believable_size(reply.value));
    return known_size_.load();
  }
  i64 known_size() const override { return known_size_; }
  Status set_size(i64 bytes) override {
    known_size_ = 0;
    MERCUTIO_TRY(change(Kind::kSetSize, bytes));
    known_size_ = bytes;
    return ok_status();
  }
  Status preallocate(i64 bytes) override { return change(Kind::kPreallocate, bytes); }
  Status flush() override {
    state_->forget_reads();
    return state_->behind.finish();
  }
  Status sync() override {
    state_->forget_reads();
    const Status written = state_->behind.finish();
    MERCUTIO_TRY(state_->session->call(Kind::kSync, message_of(request())));
    return written;
  }
  Status close() override {
    closed_ = true;
    const Status written = state_->behind.finish();
    MERCUTIO_TRY(state_->session->call(Kind::kClose, message_of(request())));
    return written;
  }

  Result<u64> checksum(i64 begin, i64 end) override {
    state_->behind.finish_quietly();
    PlainRequest wanted = request();
    wanted.value = begin;
    wanted.end = end;
    MERCUTIO_LET(const Reply reply, state_->session->call(Kind::kChecksum, message_of(wanted)));
    return static_cast<u64>(reply.value);
  }

  Status claim() override {
    MERCUTIO_TRY(state_->session->call(Kind::kClaim, message_of(request())));
    return ok_status();
  }

  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override {
    if (!traits_.can_lock)
      return Error{ErrorClass::kUnsupportedOperation, "no byte-range locks on the file system there (" + traits_.file_system +
                                                          "): mount it with locking, or avoid atomic mode"};
    PlainRequest wanted = request();
    wanted.value = begin;
    wanted.end = end;
    wanted.exclusive = exclusive && writable_;   // as for a local file
    MERCUTIO_LET(const Reply reply, state_->session->call(Kind::kLock, message_of(wanted)));
    return std::unique_ptr<HeldLock>(std::make_unique<RemoteLock>(state_, static_cast<u64>(reply.value)));
  }
  std::optional<Result<i64>> move_locked(Direction direction, std::span<const IoPiece> pieces, i64 begin, i64 end) override {
    const i64 bytes = bytes_of(pieces);
    if (!traits_.can_lock || bytes == 0 || bytes > state_->session->locked_bytes() || !(direction == Direction::kRead ? readable_ : writable_)) return std::nullopt;
    Result<Shape> shape = Shape::of({pieces.begin(), pieces.end()});
    if (!shape) return Result<i64>(shape.error());
    state_->behind.finish_quietly();
    const auto job = std::make_shared<TransferJob>(direction, state_->handle, std::move(*shape), TransferJob::LockedRange{begin, end});
    {
      const auto guard = state_->changing();
      if (direction == Direction::kWrite) state_->add_direct(job);
      state_->forget_reads();
    }
    state_->session->submit(job);
    return job->wait();
  }
  u64 handle() const override { return state_->handle; }
  const Traits& traits() const override { return traits_; }
  Layout layout() override { return layout_; }

 private:
  PlainRequest request() const {
    PlainRequest plain;
    plain.target = state_->handle;
    return plain;
  }
  Status change(Kind kind, i64 bytes) {
    if (bytes < 0 || !writable_) return error_from_errno(kind_name(kind), EINVAL);
    state_->behind.finish_quietly();
    state_->forget_reads();
    PlainRequest wanted = request();
    wanted.value = bytes;
    MERCUTIO_TRY(state_->session->call(kind, message_of(wanted)));
    return ok_status();
  }
  Status bring(const Pages::Range& range) {
    Buffer bytes(static_cast<size_t>(range.end - range.begin));
    MERCUTIO_LET(const auto job, begin(Direction::kRead, {{range.begin, bytes.data(), range.end - range.begin}}));
    MERCUTIO_LET(const i64 got, job->wait());
    bytes.resize(static_cast<size_t>(got));
    state_->pages.keep(range, std::move(bytes));
    return ok_status();
  }
  // Null: there is nothing to move.
  Result<std::shared_ptr<TransferJob>> begin(Direction direction, std::vector<IoPiece> pieces) {
    if (direction == Direction::kRead ? !readable_ : !writable_)
      return error_from_errno(direction == Direction::kRead ? "read" : "write", EBADF);
    MERCUTIO_LET(Shape shape, Shape::of(std::move(pieces)));
    if (shape.bytes() == 0) return std::shared_ptr<TransferJob>();
    if (direction == Direction::kWrite) return begin_write(std::move(shape));
    state_->behind.wait_for_overlaps(0, INT64_MAX);   // the server's size may not include writes in flight
    auto job = std::make_shared<TransferJob>(direction, state_->handle, std::move(shape));
    state_->session->submit(job);
    return job;
  }
  std::shared_ptr<TransferJob> begin_write(Shape shape) {
    const i64 first = shape.first(), last = shape.last();
    state_->behind.wait_for_overlaps(first, last);
    auto job = std::make_shared<TransferJob>(Direction::kWrite, state_->handle, std::move(shape));
    if (reads_ahead_) {
      const auto guard = state_->changing();
      state_->add_direct(job);
      state_->ahead.forget(first, last);
      state_->pages.forget();   // the operation may fail
    }
    state_->session->submit(job);
    return job;
  }
  Result<i64> write_behind(std::vector<IoPiece> pieces) {
    const std::vector<IoPiece> written = pieces;
    MERCUTIO_LET(Shape shape, Shape::of(std::move(pieces)));
    const i64 bytes = shape.bytes(), first = shape.first(), last = shape.last();
    if (bytes == 0) return i64{0};
    if (!state_->behind.takes(bytes)) return begin_write(std::move(shape))->wait();
    state_->behind.wait_for_overlaps(first, last);
    const auto guard = state_->changing();
    state_->behind.add(*state_->session, std::make_shared<TransferJob>(Direction::kWrite, state_->handle, std::move(shape)));
    state_->pages.wrote(written);
    state_->ahead.forget(first, last);
    return bytes;
  }

  std::shared_ptr<FileState> state_;
  std::atomic<i64> known_size_;
  const Layout layout_;
  const bool readable_, writable_, keeps_writes_, reads_ahead_;
  Traits traits_;
  bool closed_ = false;
};

class RemoteDriver final : public Driver {
 public:
  const char* name() const override { return "mercutio"; }

  // The rank that creates a file and the ranks that wait for it connect at the same time. Errors are reported by the open.
  void prepare(const std::string& name) override {
    if (const auto session = session_for(split_name(name).host)) (*session)->prepare();
  }
  Result<std::unique_ptr<Storage>> open(const std::string& name, const OpenOptions& options) override {
    const RemoteName remote = split_name(name);
    for (int tries = 0;; ++tries) {
      MERCUTIO_LET(const auto session, session_for(remote.host));
      auto opened = open_remote(session, remote.path, options);
      if (opened || tries > 0 || !session->left_idle()) return opened;
    }
  }
  Status remove(const std::string& name) override {
    const RemoteName remote = split_name(name);
    PlainRequest request;
    request.path = remote.path;
    for (int tries = 0;; ++tries) {
      MERCUTIO_LET(const auto session, session_for(remote.host));
      const Result<Reply> reply = session->call(Kind::kRemove, message_of(request));
      if (reply) return ok_status();
      if (tries > 0 || !session->left_idle()) return reply.error();
    }
  }

 private:
  // A new connection, or one whose session has ended, gets a new session, which replaces a lost one. Open files keep theirs. The
  // processes of a node are distributed over the servers by their process ids, which are usually consecutive.
  Result<std::shared_ptr<Session>> session_for(const std::string& host) {
    MERCUTIO_LET(const Connection connection, load_connection(host));
    const i64 server = ::getpid() % static_cast<i64>(connection.servers.size());
    std::lock_guard guard(mutex_);
    std::shared_ptr<Session>& session = sessions_[host];
    if (!session || !session->alive() || session->connection() != connection) {
      MERCUTIO_LET(session, Session::make(connection, server, session));
    }
    return session;
  }

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Session>> sessions_ MERCUTIO_GUARDED_BY(mutex_);
};

}  // namespace

Result<std::unique_ptr<Storage>> open_remote(const std::shared_ptr<Session>& session, const std::string& path,
                                             const OpenOptions& options) {
  OpenRequest request;
  request.path = path;
  request.read = options.read;
  request.write = options.write;
  request.create = options.create;
  request.exclusive = options.exclusive;
  request.permissions = static_cast<std::uint32_t>(options.permissions);
  request.wanted = options.wanted_layout;
  Buffer message;
  put_message(message, request);
  MERCUTIO_LET(const Reply reply, session->call(Kind::kOpen, std::move(message)));
  MERCUTIO_LET(const OpenReply opened, get_message<OpenReply>(reply.more));
  auto state = std::make_shared<FileState>(session, opened.handle);
  MERCUTIO_LET(const i64 size, believable_size(reply.value));
  return std::unique_ptr<Storage>(std::make_unique<RemoteFile>(std::move(state), opened, size, options));
}

std::unique_ptr<Driver> make_driver() {
  return std::make_unique<RemoteDriver>();
}

}  // namespace mercutio::remote
