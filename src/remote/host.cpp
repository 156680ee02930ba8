#include "remote/host.h"

#include <unistd.h>

#include <cerrno>

namespace mercutio::remote {
namespace {

constexpr i64 kOtherMs = 2'000;   // time limit for another server of the connection
constexpr size_t kMostListed = 10'000'000;   // maximum number of names accepted from a server

// Requests all parts of a list. `next` sets where the following part begins.
template <class Message, class Next>
Result<std::vector<Message>> all_of(RemoteHost& host, Kind kind, NameRequest request, Next next) {
  std::vector<Message> found;
  for (;;) {
    MERCUTIO_LET(const Reply reply, host.call(kind, request));
    MERCUTIO_LET(std::vector<Message> part, get_messages<Message>(reply.more));
    found.insert(found.end(), part.begin(), part.end());
    if (reply.value == 0) return found;
    if (part.empty() || found.size() > kMostListed) return Error{ErrorClass::kIo, "the server's list makes no sense", EPROTO};
    next(request, found.back());
  }
}

// What the server tells of a name.
template <class Message>
Result<Message> told_of(RemoteHost& host, Kind kind, const std::string& path) {
  NameRequest request;
  request.path = path;
  MERCUTIO_LET(const Reply reply, host.call(kind, request));
  return get_message<Message>(reply.more);
}

}  // namespace

int errno_of(const Error& error) {
  if (error.sys_errno > 0) return error.sys_errno;
  switch (error.cls) {
    case ErrorClass::kNoSuchFile: return ENOENT;
    case ErrorClass::kFileExists: return EEXIST;
    case ErrorClass::kAccess: return EACCES;
    case ErrorClass::kReadOnly: return EROFS;
    case ErrorClass::kNoSpace: return ENOSPC;
    case ErrorClass::kQuota: return EDQUOT;
    case ErrorClass::kBadFile:
    case ErrorClass::kArg: return EINVAL;
    case ErrorClass::kUnsupportedOperation: return EOPNOTSUPP;
    case ErrorClass::kNoMem: return ENOMEM;
    default: return EIO;
  }
}

bool is_remote(const std::string& name) {
  return name.starts_with(kScheme);
}

RemoteName split_name(const std::string& name) {
  const std::string rest = is_remote(name) ? name.substr(sizeof kScheme - 1) : name;
  const size_t slash = rest.find('/');
  if (slash == std::string::npos) return {rest, ""};
  return {rest.substr(0, slash), rest.substr(slash + 1)};
}

Result<std::shared_ptr<Session>> RemoteHost::session() {
  std::lock_guard guard(mutex_);
  if (session_ && session_->alive()) return session_;
  MERCUTIO_LET(const Connection connection, load_connection(host_));
  MERCUTIO_LET(session_, Session::make(connection, ::getpid() % static_cast<i64>(connection.servers.size()), session_));
  return session_;
}

Result<std::shared_ptr<CallJob>> RemoteHost::begin(Kind kind, const NameRequest& request) {
  Buffer message;
  put_message(message, request);
  return begin(kind, std::move(message));
}

Result<std::shared_ptr<CallJob>> RemoteHost::begin_remove(const std::string& path, i64 linked) {
  Buffer message;
  put_message(message, PlainRequest{.value = linked, .path = path});
  return begin(Kind::kRemove, std::move(message));
}

Result<std::shared_ptr<CallJob>> RemoteHost::begin(Kind kind, Buffer message) {
  MERCUTIO_LET(const auto at, session());
  auto job = std::make_shared<CallJob>(kind, std::move(message));
  at->submit(job);
  return job;
}

Result<Reply> RemoteHost::call(Kind kind, const NameRequest& request) {
  Buffer message;
  put_message(message, request);
  return ask(kind, message);
}

Result<Reply> RemoteHost::ask(Kind kind, const Buffer& message) {
  return on_session([this] { return session(); }, [&](const auto& at) { return at->call(kind, message); });
}

Result<std::unique_ptr<Storage>> RemoteHost::open(const std::string& path, const OpenOptions& options, std::optional<FileIdentity>* identity) {
  return on_session([this] { return session(); }, [&](const auto& at) { return open_remote(at, path, options, identity); });
}

Status RemoteHost::claim(RemoteStorage& file, const std::string& path) {
  Status claimed = file.claim();
  if (claimed || claimed.error().sys_errno != EBUSY) return claimed;
  MERCUTIO_LET(const auto here, session());
  OpenOptions writing;
  writing.write = true;
  const Connection& connection = here->connection();
  for (size_t i = 0; i < connection.servers.size(); ++i) {
    if (connection.servers[i] == here->server()) continue;
    Connection impatient = connection;
    impatient.patience_ms = kOtherMs;
    const auto there = Session::make(impatient, static_cast<i64>(i));
    const auto same = there ? open_remote(*there, path, writing) : Result<std::unique_ptr<Storage>>(there.error());
    if (!same) continue;
    claimed = dynamic_cast<RemoteStorage&>(**same).claim();
    (void)(*same)->close();
    if (claimed) return file.claim();
  }
  return file.claim();
}

Status RemoteHost::remove(const std::string& path, i64 linked) {
  Buffer message;
  put_message(message, PlainRequest{.value = linked, .path = path});
  MERCUTIO_TRY(ask(Kind::kRemove, message));
  return ok_status();
}

Result<FileStatus> RemoteHost::status(const std::string& path) {
  return told_of<FileStatus>(*this, Kind::kStatus, path);
}

Result<FileStatus> RemoteHost::own_status(const std::string& path) {
  return told_of<FileStatus>(*this, Kind::kOwnStatus, path);
}

Result<std::string> RemoteHost::read_link(const std::string& path) {
  NameRequest request;
  request.path = path;
  MERCUTIO_LET(const Reply reply, call(Kind::kReadLink, request));
  std::string text;
  RemoteDecoder reader(reply.more);
  reader(text);
  if (!reader.finished() || text.empty() || text.find('\0') != std::string::npos) return Error{ErrorClass::kIo, "the server's link leads nowhere", EPROTO};
  return text;
}

Result<Space> RemoteHost::space(const std::string& path) {
  return told_of<Space>(*this, Kind::kSpace, path);
}

// A name with a slash, or "..", would put a copy into another directory.
Result<std::vector<ListEntry>> RemoteHost::list(const std::string& path, i64 linked) {
  NameRequest request;
  request.path = path;
  request.position = linked;
  MERCUTIO_LET(std::vector<ListEntry> entries, all_of<ListEntry>(*this, Kind::kList, request, [](NameRequest& next, const ListEntry& last) { next.other = last.name; }));
  for (const ListEntry& entry : entries)
    if (entry.name.empty() || entry.name == "." || entry.name == ".." || entry.name.find('/') != std::string::npos || entry.name.find('\0') != std::string::npos)
      return Error{ErrorClass::kIo, "the server lists a name that no file has", EPROTO};
  return entries;
}

Result<std::vector<Extent>> RemoteHost::extents(const std::string& path) {
  NameRequest request;
  request.path = path;
  MERCUTIO_LET(std::vector<Extent> extents, all_of<Extent>(*this, Kind::kExtents, request, [](NameRequest& next, const Extent& last) { next.position = last.end; }));
  i64 end = 0;
  for (const Extent& extent : extents) {
    if (extent.begin < end || extent.end <= extent.begin) return Error{ErrorClass::kIo, "the server's extents make no sense", EPROTO};
    end = extent.end;
  }
  return extents;
}

}  // namespace mercutio::remote
