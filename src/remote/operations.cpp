#include "remote/operations.h"

#include <cerrno>

#include "engine/engine.h"

namespace mercutio::remote {
namespace {

constexpr i64 kFarthest = i64{1} << 61;

Error no_such_file() {
  return Error{ErrorClass::kFile, "the file is not open on the server", EBADF};
}

Error still_busy() {
  return Error{ErrorClass::kIo, "a request that took too long is still being carried out there; try again later", EBUSY};
}

Reply done(i64 value) {
  Reply reply;
  reply.value = value;
  return reply;
}

// A client without write permission must not exclude writers.
Status may_lock(const ServedFile& file, bool exclusive) {
  if (!exclusive || file.writable) return ok_status();
  return Error{ErrorClass::kReadOnly, "an exclusive lock needs a file that is open for writing", EBADF};
}

Result<TransferRequest> transfer_in(Kind kind, ConstBytes message) {
  if (!is_locked(kind)) return get_message<TransferRequest>(message);
  MERCUTIO_LET(LockedRequest request, get_message<LockedRequest>(message));
  return std::move(request.transfer);
}

// The view of a transfer. Null: its type tree is unknown here.
Result<ViewRef> view_of(ServedSession& session, const TransferRequest& request) {
  FlatTypeRef type = contiguous_bytes();
  if (request.tree != 0 && !request.definition.empty()) {
    if (std::max<u64>(1, checksum_of(request.definition)) != request.tree)
      return Error{ErrorClass::kIo, "a type tree is not what its hash says"};
    MERCUTIO_LET(type, FlatType::deserialize(request.definition));
    session.learn(request.tree, type);
  } else if (request.tree != 0) {
    type = session.tree(request.tree);
    if (!type) return ViewRef();
  }
  if (request.displacement < 0 || request.displacement > kFarthest || request.begin < 0 ||
      request.end < request.begin || type->size() == 0 || request.end > type->stream_bytes())
    return Error{ErrorClass::kArg, "a transfer outside of what a file can hold", EINVAL, request.displacement};
  auto view = std::make_shared<View>();
  view->displacement = request.displacement;
  view->etype = contiguous_bytes();
  view->filetype = std::move(type);
  return ViewRef(std::move(view));
}

}  // namespace

Result<u64> checksum_of_range(Storage& storage, i64 begin, i64 end) {
  const bool in_order = begin >= 0 && end >= begin;   // otherwise their difference might overflow
  if (!in_order || end - begin > kMostChecked)
    return Error{ErrorClass::kArg, "a range that can't be checked at once", EINVAL, begin, in_order ? end - begin : -1};
  Buffer data(static_cast<size_t>(end - begin));
  const IoPiece piece{begin, data.data(), end - begin};
  MERCUTIO_LET(const i64 got, storage.read(std::span(&piece, 1)));
  return checksum_of(ConstBytes(data).first(static_cast<size_t>(got)));
}

bool is_query(Kind kind) {
  return kind == Kind::kRead || kind == Kind::kSize || kind == Kind::kStatus || kind == Kind::kList || kind == Kind::kExtents || kind == Kind::kGet ||
         kind == Kind::kSent || kind == Kind::kUsers || kind == Kind::kOwnStatus || kind == Kind::kReadLink || kind == Kind::kSpace;
}

bool is_slow(Kind kind) {
  return kind == Kind::kOpen || kind == Kind::kSync || kind == Kind::kClose || kind == Kind::kLock || kind == Kind::kPreallocate ||
         kind == Kind::kSetSize || kind == Kind::kChecksum || kind == Kind::kList || kind == Kind::kExtents || kind == Kind::kClaim || kind == Kind::kSend ||
         kind == Kind::kPut;   // syncs: several at once take little longer than one
}

Buffer Operations::carry_out(ServedSession& session, const Frame& request, ConstBytes message) const {
  const Kind kind = request.header.kind;
  if (kind == Kind::kRead || kind == Kind::kWrite || is_locked(kind)) return transfer(session, request, message);
  const Result<Reply> reply = kind == Kind::kOpen       ? open(session, message)
                              : is_about_names(kind) ? about_names(session, kind, message)
                                                     : plain(session, kind, message);
  return answer_of(request.header.id, reply);
}

Buffer Operations::answer_of(u64 id, const Result<Reply>& reply) const {
  return frame_with(Kind::kReply, id, reply ? *reply : reply_of(reply.error(), host));
}

Buffer Operations::too_early(u64 id) const {
  return answer_of(id, still_busy());
}

Result<Reply> Operations::open(ServedSession& session, ConstBytes message) const {
  MERCUTIO_LET(const OpenRequest request, get_message<OpenRequest>(message));
  if (!request.read && !request.write) return Error{ErrorClass::kAmode, "a file is opened to be read, written or both", EINVAL};
  if (const auto& borrowed = session.borrowed()) {
    if (request.path == borrowed->path) return opened(session, borrowed, request);
    return Error{ErrorClass::kAccess, "the key of a copy is good for writing its file alone", EACCES};
  }
  MERCUTIO_TRY(session.room_for_file());   // before the file is created
  OpenOptions options;
  options.read = request.read;
  options.write = request.write;
  options.create = request.create;
  options.exclusive = request.exclusive;
  options.permissions = static_cast<int>(request.permissions & 0777);
  options.wanted_layout = request.wanted;
  auto file = std::make_shared<ServedFile>();
  MERCUTIO_LET(Exports::Opened found, exports.open_file(request.path, options));
  file->storage = std::move(found.storage);
  file->identity = found.identity;
  if (!session.await_forgotten_on(file->identity, kLateMs)) return still_busy();
  if (around) file->storage = around(std::move(file->storage));
  file->path = request.path;
  file->readable = options.read;
  file->writable = options.write;
  return opened(session, file, request);
}

Result<Reply> Operations::opened(ServedSession& session, const std::shared_ptr<ServedFile>& file, const OpenRequest& request) const {
  std::shared_lock in_use(file->closing);
  if (file->closed) return no_such_file();
  OpenReply opened;
  const Traits& traits = file->storage->traits();
  opened.file_system = traits.file_system;
  opened.can_lock = traits.can_lock;
  opened.visibility_immediate = traits.coherence == Coherence::kImmediate;
  opened.block_bytes = traits.block_bytes;
  opened.layout = file->storage->layout();
  opened.identified = (request.permissions & kIdentify) != 0;
  opened.device = file->identity.device;
  opened.inode = file->identity.inode;
  Reply reply;
  MERCUTIO_LET(reply.value, file->storage->size());
  MERCUTIO_LET(opened.handle, session.add_file(file));
  put_message(reply.more, opened);
  return reply;
}

// The list of extents is that of the name. It belongs to the open file if the name denoted that file before and after.
Result<OutgoingCopy::Source> Operations::open_source(const std::string& path) const {
  OutgoingCopy::Source source;
  MERCUTIO_LET(Exports::Opened found, exports.open_file(path, OpenOptions()));
  source.file = around ? around(std::move(found.storage)) : std::move(found.storage);
  MERCUTIO_LET(source.bytes, source.file->size());
  source.extents = {{0, source.bytes}};
  const auto has_name = [&] {
    const auto status = exports.status(path);
    return status && status->identity() == found.identity ? std::optional(*status) : std::nullopt;
  };
  const auto before = has_name();
  if (!before || before->allocated >= source.bytes) return source;
  MERCUTIO_LET(auto extents, exports.extents(path, 0, INT64_MAX));
  if (has_name()) source.extents = std::move(extents);
  return source;
}

Result<Reply> Operations::plain(ServedSession& session, Kind kind, ConstBytes message) const {
  MERCUTIO_LET(const PlainRequest request, get_message<PlainRequest>(message));
  if (kind == Kind::kRemove) {
    MERCUTIO_TRY(exports.remove(request.path, request.value));
    return done(0);
  }
  if (kind == Kind::kUnlock) {
    const std::optional<std::string> path = session.release_lock(request.target);
    if (!path) return Error{ErrorClass::kArg, "no such lock", EINVAL};
    released(*path);
    return done(0);
  }
  if (kind == Kind::kClose) {
    MERCUTIO_TRY(close(session, request.target));
    return done(0);
  }
  return on_file(session, kind, request);
}

Status Operations::close(ServedSession& session, u64 handle) const {
  const std::shared_ptr<ServedFile> file = session.take_file(handle);
  if (!file) return no_such_file();
  if (file == session.borrowed()) return ok_status();   // its owner closes it
  std::unique_lock alone(file->closing);
  return file->closed ? Status(no_such_file()) : file->close();
}

u64 Operations::opened_by(const Buffer& answer) const {
  const auto reply = get_message<Reply>(ConstBytes(answer).subspan(kHeaderBytes));
  const auto opened = reply ? get_message<OpenReply>(reply->more) : reply.error();
  return opened ? opened->handle : 0;
}

Result<Reply> Operations::about_names(ServedSession& session, Kind kind, ConstBytes message) const {
  constexpr i64 kMostListed = 1 * MiB, kMostExtents = 16 * 1024;
  MERCUTIO_LET(const NameRequest request, get_message<NameRequest>(message));
  if (is_about_attributes(kind)) return about_attributes(kind, request);
  Reply reply;
  if (kind == Kind::kStatus) {
    MERCUTIO_LET(const FileStatus status, exports.status(request.path));
    put_message(reply.more, status);
  } else if (kind == Kind::kList) {
    MERCUTIO_LET(const Exports::Listed listed, exports.list(request.path, request.other, kMostListed, request.position));
    for (const ListEntry& entry : listed.entries) put_message(reply.more, entry);
    reply.value = listed.whole ? 0 : 1;
  } else if (kind == Kind::kExtents) {
    MERCUTIO_LET(const std::vector<Extent> extents, exports.extents(request.path, request.position, kMostExtents));
    for (const Extent& extent : extents) put_message(reply.more, extent);
    reply.value = static_cast<i64>(extents.size()) < kMostExtents ? 0 : 1;
  } else if (kind == Kind::kRename) {
    const std::shared_ptr<ServedFile> file = request.handle == 0 ? nullptr : session.file(request.handle);
    if (request.handle != 0 && !file) return no_such_file();
    if (file && file->storage->traits().coherence == Coherence::kAfterPublish) MERCUTIO_TRY(file->storage->sync());
    MERCUTIO_TRY(exports.rename(request, file ? std::optional(file->identity) : std::nullopt));
  } else if (kind == Kind::kMakeDirectory) {
    MERCUTIO_TRY(exports.make_directory(request.path, static_cast<int>(request.permissions)));
  } else if (kind == Kind::kRemoveDirectory) {
    MERCUTIO_TRY(exports.remove_directory(request.path, request.position));
  } else if (kind == Kind::kPut) {
    MERCUTIO_LET(const u64 sum, exports.put(request));
    reply.value = static_cast<i64>(sum);
  } else {
    MERCUTIO_LET(const GetReply got, exports.get(request.path));
    put_message(reply.more, got);
  }
  return reply;
}

Result<Reply> Operations::about_attributes(Kind kind, const NameRequest& request) const {
  Reply reply;
  if (kind == Kind::kOwnStatus) {
    MERCUTIO_LET(const FileStatus status, exports.own_status(request.path));
    put_message(reply.more, status);
  } else if (kind == Kind::kReadLink) {
    MERCUTIO_LET(const std::string text, exports.read_link(request.path));
    RemoteEncoder{reply.more}(text);
  } else if (kind == Kind::kMakeLink) {
    MERCUTIO_TRY(exports.make_link(request.path, request.other));
  } else if (kind == Kind::kSetAttributes) {
    MERCUTIO_TRY(exports.change_attributes(request));
  } else {
    MERCUTIO_LET(const Space space, exports.space(request.path));
    put_message(reply.more, space);
  }
  return reply;
}

Result<Reply> Operations::on_file(ServedSession& session, Kind kind, const PlainRequest& request) const {
  const std::shared_ptr<ServedFile> file = session.file(request.target);
  if (!file) return no_such_file();
  std::shared_lock in_use(file->closing);
  if (file->closed) return no_such_file();
  if (kind == Kind::kSize) {
    MERCUTIO_LET(const i64 bytes, file->storage->size());
    return done(bytes);
  }
  if (kind == Kind::kSetSize) {
    MERCUTIO_TRY(file->storage->set_size(request.value));
  } else if (kind == Kind::kPreallocate) {
    MERCUTIO_TRY(file->storage->preallocate(request.value));
  } else if (kind == Kind::kSync) {
    MERCUTIO_TRY(file->storage->sync());
  } else if (kind == Kind::kChecksum) {
    if (!file->readable) return error_from_errno("checksum", EBADF);
    MERCUTIO_LET(const u64 sum, checksum_of_range(*file->storage, request.value, request.end));
    return done(static_cast<i64>(sum));
  }
  return done(0);
}

Result<LockRequest> Operations::wanted_lock(const std::shared_ptr<ServedSession>& session, Kind kind, ConstBytes message) const {
  LockRequest wanted{session, nullptr};
  u64 handle = 0;
  if (is_locked(kind)) {
    MERCUTIO_LET(const LockedRequest request, get_message<LockedRequest>(message));
    handle = request.transfer.handle;
    wanted.begin = request.lock_begin;
    wanted.end = request.lock_end;
    wanted.exclusive = kind == Kind::kLockedWrite;
  } else {
    MERCUTIO_LET(const PlainRequest request, get_message<PlainRequest>(message));
    handle = request.target;
    wanted.begin = request.value;
    wanted.end = request.end;
    wanted.exclusive = request.exclusive;
  }
  wanted.file = session->file(handle);
  if (!wanted.file) return no_such_file();
  MERCUTIO_TRY(may_lock(*wanted.file, wanted.exclusive));
  return wanted;
}

Buffer Operations::answer_lock(const LockRequest& wanted, u64 id, Result<std::unique_ptr<HeldLock>> lock) const {
  const auto answer = [&]() -> Result<Reply> {
    if (!lock) return lock.error();
    MERCUTIO_LET(const u64 handle, wanted.session->add_lock(std::move(*lock), *wanted.file));
    return done(static_cast<i64>(handle));
  };
  return answer_of(id, answer());
}

// Data of reads is placed after the reply's message in the frame that is sent, so it is not copied. The caller holds any lock.
Buffer Operations::transfer(ServedSession& session, const Frame& frame, ConstBytes message) const {
  const bool reading = frame.header.kind == Kind::kRead || frame.header.kind == Kind::kLockedRead;
  const u64 id = frame.header.id;
  Buffer answer(kHeaderBytes);
  put_message(answer, done(0));
  const size_t data_at = answer.size();
  const auto move = [&]() -> Result<i64> {
    MERCUTIO_LET(const TransferRequest request, transfer_in(frame.header.kind, message));
    MERCUTIO_LET(const ViewRef view, view_of(session, request));
    if (!view) return i64{-1};
    const i64 bytes = request.end - request.begin;
    if (bytes > block_bytes || frame.header.data_bytes != (reading ? 0 : bytes))
      return Error{ErrorClass::kArg, "a block of " + std::to_string(bytes) + " bytes is not what was granted", EINVAL};
    const std::shared_ptr<ServedFile> file = session.file(request.handle);
    if (!file) return no_such_file();
    std::shared_lock in_use(file->closing);
    if (file->closed) return no_such_file();
    if (reading) answer.resize(data_at + static_cast<size_t>(bytes));
    std::byte* const memory = reading ? answer.data() + data_at : const_cast<std::byte*>(frame.data().data());
    EngineFile engine_file;
    engine_file.storage = file->storage.get();
    engine_file.hints = &hints;
    engine_file.readable = file->readable;
    engine_file.sieved = false;   // clients' writes are executed as they are: never read, merged and written back here
    const Access access{reading ? Direction::kRead : Direction::kWrite, view, request.begin, bytes,
                        Memory{memory, contiguous_bytes(), bytes}};
    return independent(engine_file, access);
  };
  const Result<i64> moved = move();
  if (!moved) return frame_with(Kind::kReply, id, reply_of(moved.error(), host));
  Reply reply = done(std::max<i64>(0, *moved));
  if (*moved < 0) reply.outcome = static_cast<std::uint32_t>(Outcome::kTreeUnknown);
  if (reply.outcome != 0) return frame_with(Kind::kReply, id, reply);
  Buffer body;
  put_message(body, reply);
  answer.resize(data_at + static_cast<size_t>(reading ? *moved : 0));
  std::copy(body.begin(), body.end(), answer.begin() + kHeaderBytes);
  seal(answer, 0, {Kind::kReply, id, static_cast<i64>(body.size()), frame.lz4});
  return answer;
}

}  // namespace mercutio::remote
