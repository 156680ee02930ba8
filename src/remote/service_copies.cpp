// The server's part of copies: who may write to the file of a copy, here or on another server. Also the audit log of all requests.
#include <algorithm>
#include <cerrno>

#include "remote/printable.h"
#include "remote/route.h"
#include "remote/service.h"

namespace mercutio::remote {

// A client that is gone, or whose link is broken, does not prevent its copy from being continued: it loses the file, so none of its
// requests changes it later.
Status Service::end_claim_of_others(const ServedSession& asking, const FileIdentity& identity) {
  std::vector<std::shared_ptr<ServedSession>> sessions;
  {
    std::lock_guard guard(mutex_);
    for (const auto& [id, session] : sessions_) sessions.push_back(session);
  }
  for (const auto& session : sessions) {
    const u64 handle = session->claim_on(identity);
    if (handle == 0 || session->borrowed()) continue;   // a session of another server keeps the file as long as its owner does
    if (session.get() == &asking || session->streams() > 0) return Error{ErrorClass::kFileInUse, "another copy to the same place is under way", EBUSY};
    const std::shared_ptr<ServedFile> file = session->take_file(handle);
    if (!file) continue;
    std::unique_lock alone(file->closing);
    if (!file->closed) (void)file->close();
  }
  return ok_status();
}

Result<Reply> Service::claim(const std::shared_ptr<ServedSession>& session, ConstBytes message) {
  constexpr i64 kWhole = i64{1} << 61;
  MERCUTIO_LET(const PlainRequest request, get_message<PlainRequest>(message));
  const std::shared_ptr<ServedFile> file = session->file(request.target);
  if (!file) return Error{ErrorClass::kFile, "the file is not open on the server", EBADF};
  const std::shared_ptr<std::mutex> claims = claims_.of(file->identity);
  std::lock_guard one_at_a_time(*claims);
  std::shared_lock in_use(file->closing);
  if (file->closed) return Error{ErrorClass::kFile, "the file is not open on the server", EBADF};
  if (file->claimed) return Reply();
  if (!file->writable) return Error{ErrorClass::kReadOnly, "a copy is made in a file that is open for writing", EBADF};
  MERCUTIO_TRY(exports_.may_copy_to(file->path));
  MERCUTIO_TRY(end_claim_of_others(*session, file->identity));
  auto lock = file->storage->try_lock(0, kWhole, true);
  if (lock && !*lock) return Error{ErrorClass::kFileInUse, "another copy to the same place is under way", EBUSY};
  if (lock) file->claim = std::move(*lock);
  const auto named = exports_.status(file->path);
  const bool has_name = named && FileIdentity{named->device, named->inode} == file->identity;
  file->claimed = has_name;
  if (has_name) return Reply();
  file->claim.reset();
  return Error{ErrorClass::kFile, "another file has the name now: does another copy go to the same place?", ESTALE};
}

// A grant for another server, which writes to the file that this client has claimed for a copy.
Result<Reply> Service::grant(ServedSession& session, ConstBytes message) {
  MERCUTIO_LET(const PlainRequest request, get_message<PlainRequest>(message));
  const std::shared_ptr<ServedFile> file = session.file(request.target);
  if (!file || !file->claimed) return Error{ErrorClass::kFile, "the file is not claimed for a copy", EBADF};
  MERCUTIO_LET(const GrantReply granted, grants_->make(file));
  Reply reply;
  put_message(reply.more, granted);
  return reply;
}

Result<Reply> Service::send_file(ServedSession& session, ConstBytes message) {
  MERCUTIO_LET(SendRequest request, parse_send(message));
  const std::string port = std::to_string(request.port);
  const bool any = std::find(options_.copy_to.begin(), options_.copy_to.end(), "*") != options_.copy_to.end();
  if (!any && !is_one_of(options_.copy_to, request.address, port))
    return Error{ErrorClass::kUnsupportedOperation, "its mercutiod may not copy to " + request.address + " port " + port + " (--copy-to)", EPERM};
  const auto place = std::shared_ptr<void>(nullptr, [this](void*) { --outgoing_; });
  if (++outgoing_ > options_.most_outgoing) return Error{ErrorClass::kUnsupportedOperation, "it sends as many files as it may already", EUSERS};
  MERCUTIO_LET(OutgoingCopy::Source source, operations_.open_source(request.path));
  const auto copy = std::make_shared<OutgoingCopy>(std::move(request), std::move(source));
  Reply reply;
  MERCUTIO_LET(const u64 handle, session.add_copy(copy));
  reply.value = static_cast<i64>(handle);
  if (run_beside([copy, place] { copy->run(); })) return reply;
  copy->refuse(Error{ErrorClass::kOther, "it has no thread for a copy", EAGAIN});
  return reply;
}

Result<Reply> Service::carry_out(const std::shared_ptr<ServedSession>& session, Kind kind, ConstBytes message) {
  if (kind == Kind::kClaim) return claim(session, message);
  if (kind == Kind::kGrant) return grant(*session, message);
  if (kind == Kind::kSend) return send_file(*session, message);
  MERCUTIO_LET(const PlainRequest request, get_message<PlainRequest>(message));
  if (kind == Kind::kUsers) {
    Reply reply;
    reply.value = users_beside(*session);
    return reply;
  }
  const std::shared_ptr<OutgoingCopy> copy = session->copy(request.target);
  if (!copy) return Error{ErrorClass::kArg, "no such copy", EINVAL};
  return copy->state();
}

// The audit log: who opened, read as a whole, changed or deleted which file, and which requests were refused.
void Service::log_request(const Channel& channel, const Frame& frame, ConstBytes message, const Buffer& reply) {
  const Kind kind = frame.header.kind;
  const bool about_names = is_about_names(kind);
  if (!options_.log || (kind != Kind::kOpen && kind != Kind::kRemove && kind != Kind::kSend && kind != Kind::kGrant && !about_names)) return;
  const auto answer = get_message<Reply>(ConstBytes(reply).subspan(kHeaderBytes));
  const bool refused = answer && answer->outcome != 0;
  if (is_query(kind) && kind != Kind::kGet && !refused) return;   // it has read nothing of a file
  std::string text = "deletes ";
  if (about_names) {
    const auto request = get_message<NameRequest>(message);
    text = kind == Kind::kRename ? "renames " : kind == Kind::kMakeDirectory ? "makes directory " : kind == Kind::kPut ? "writes " : kind == Kind::kMakeLink ? "makes link " : kind == Kind::kSetAttributes ? "sets attributes of " : kind == Kind::kGet ? "reads " : is_query(kind) ? "looks at " : "deletes directory ";
    if (request) text += request->path + (request->other.empty() ? "" : " to " + request->other);
  } else if (kind == Kind::kOpen) {
    const auto request = get_message<OpenRequest>(message);
    if (request) text = std::string(request->write ? "opens to write " : "opens to read ") + request->path;
  } else if (kind == Kind::kSend) {
    const auto request = get_message<SendRequest>(message);
    if (request) text = "sends " + request->path + " to " + request->address + " port " + std::to_string(request->port);
  } else if (kind == Kind::kGrant) {
    text = "lets another server write to the file of its copy";
  } else if (const auto request = get_message<PlainRequest>(message); request) {
    text += request->path;
  }
  if (refused) text += ": refused: " + answer->text;
  log(channel, text);
}

}  // namespace mercutio::remote
