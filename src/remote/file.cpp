#include "remote/file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "base/thread_annotations.h"
#include "remote/host.h"
#include "storage/cache.h"
#include "storage/finished_transfer.h"

namespace mercutio::remote {
namespace {

Buffer message_of(const PlainRequest& request) {
  Buffer message;
  put_message(message, request);
  return message;
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

  FileState(std::shared_ptr<Session> s, u64 h) : session(std::move(s)), handle(h) { session->file_opened(); }
  ~FileState() { session->file_closed(); }
  FileState(const FileState&) = delete;
  FileState& operator=(const FileState&) = delete;
};

class RemoteLock final : public HeldLock {
 public:
  RemoteLock(std::shared_ptr<FileState> state, u64 lock) : state_(std::move(state)), lock_(lock) {}
  // Does not wait for the reply: data written under the lock is at the server already.
  ~RemoteLock() override {
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
        writable_(options.write) {
    traits_.file_system = "mercutio";
    traits_.remote_cluster = traits_.metadata_is_remote = true;
    traits_.can_lock = opened.can_lock;
    traits_.coherence = opened.visibility_immediate && !(options.keeps_writes && state_->session->connection().write_behind_bytes > 0) ? Coherence::kImmediate : Coherence::kAfterOpen;
    traits_.block_bytes = std::max<i64>(1, opened.block_bytes);
    traits_.file_number = static_cast<i64>(opened.inode);   // each of the servers may call the device otherwise
  }
  ~RemoteFile() override {
    if (!closed_) state_->session->submit(std::make_shared<CallJob>(Kind::kClose, message_of(request())));
  }

  Result<i64> read(std::span<const IoPiece> pieces) override { return move(Direction::kRead, pieces); }
  Result<i64> write(std::span<const IoPiece> pieces) override { return move(Direction::kWrite, pieces); }
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override {
    auto job = begin(direction, std::move(pieces));
    if (!job) return finished_transfer(job.error());
    if (!*job) return finished_transfer(i64{0});
    return std::make_unique<JobTransfer>(std::move(*job));
  }

  Result<i64> size() override {
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
  Status sync() override {
    MERCUTIO_TRY(state_->session->call(Kind::kSync, message_of(request())));
    return ok_status();
  }
  Status close() override {
    closed_ = true;
    MERCUTIO_TRY(state_->session->call(Kind::kClose, message_of(request())));
    return ok_status();
  }

  Result<u64> checksum(i64 begin, i64 end) override {
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
    const auto job = std::make_shared<TransferJob>(direction, state_->handle, std::move(*shape), TransferJob::LockedRange{begin, end});
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
    PlainRequest wanted = request();
    wanted.value = bytes;
    MERCUTIO_TRY(state_->session->call(kind, message_of(wanted)));
    return ok_status();
  }
  Result<i64> move(Direction direction, std::span<const IoPiece> pieces) {
    MERCUTIO_LET(const auto job, begin(direction, {pieces.begin(), pieces.end()}));
    return job ? job->wait() : Result<i64>(i64{0});
  }
  // Null: there is nothing to move.
  Result<std::shared_ptr<TransferJob>> begin(Direction direction, std::vector<IoPiece> pieces) {
    if (direction == Direction::kRead ? !readable_ : !writable_)
      return error_from_errno(direction == Direction::kRead ? "read" : "write", EBADF);
    MERCUTIO_LET(Shape shape, Shape::of(std::move(pieces)));
    if (shape.bytes() == 0) return std::shared_ptr<TransferJob>();
    auto job = std::make_shared<TransferJob>(direction, state_->handle, std::move(shape));
    state_->session->submit(job);
    return job;
  }
  std::shared_ptr<FileState> state_;
  std::atomic<i64> known_size_;
  const Layout layout_;
  const bool readable_, writable_;
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
    return on_session([&] { return session_for(remote.host); }, [&](const auto& at) { return open_remote(at, remote.path, options); });
  }
  Status remove(const std::string& name) override {
    const RemoteName remote = split_name(name);
    PlainRequest request;
    request.path = remote.path;
    MERCUTIO_TRY(on_session([&] { return session_for(remote.host); }, [&](const auto& at) { return at->call(Kind::kRemove, message_of(request)); }));
    return ok_status();
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

Result<std::unique_ptr<Storage>> open_remote(const std::shared_ptr<Session>& session, const std::string& path, const OpenOptions& options,
                                             std::optional<FileIdentity>* identity) {
  OpenRequest request;
  request.path = path;
  request.read = options.read;
  request.write = options.write;
  request.create = options.create;
  request.exclusive = options.exclusive;
  request.permissions = static_cast<std::uint32_t>(options.permissions) | kIdentify;
  request.wanted = options.wanted_layout;
  Buffer message;
  put_message(message, request);
  MERCUTIO_LET(const Reply reply, session->call(Kind::kOpen, std::move(message)));
  MERCUTIO_LET(const OpenReply opened, get_message<OpenReply>(reply.more));
  if (identity && opened.identified) *identity = FileIdentity{opened.device, opened.inode};
  auto state = std::make_shared<FileState>(session, opened.handle);
  MERCUTIO_LET(const i64 size, believable_size(reply.value));
  auto file = std::make_unique<RemoteFile>(std::move(state), opened, size, options);
  const Connection& connection = session->connection();
  const CachePolicy policy = cache_policy(file->traits(), options.keeps_writes && options.write ? connection.write_behind_bytes : 0,
                                          options.reads_ahead && options.read ? connection.read_ahead_bytes : 0);
  if (policy.write_bytes == 0 && policy.read_bytes == 0) return std::unique_ptr<Storage>(std::move(file));
  return make_cached(std::move(file), policy);
}

std::unique_ptr<Driver> make_driver() {
  return std::make_unique<RemoteDriver>();
}

}  // namespace mercutio::remote
