#include "remote/outgoing.h"

#include <cerrno>
#include <cstring>

#include "base/attempt.h"
#include "base/trace.h"
#include "remote/descriptor.h"
#include "remote/file.h"
#include "remote/sockets.h"

namespace mercutio::remote {
namespace {

constexpr i64 kReachMs = 5'000;   // for a connection to another server; then the client copies the data itself

Error cancelled() {
  return Error{ErrorClass::kIo, "the copy was given up: the program that asked for it is gone", ECANCELED};
}

}  // namespace

Result<SendRequest> parse_send(ConstBytes message) {
  MERCUTIO_LET(SendRequest request, get_message<SendRequest>(message));
  const bool right = request.key.size() == Key().size() && !request.identity.empty() && request.identity.size() <= 64 && request.identity != kOwnIdentity &&
                     !request.address.empty() && request.port >= 1 && request.port <= 65535 && request.streams >= 1 && request.streams <= 16 &&
                     request.parallel >= 1 && request.parallel <= 64;
  if (!right) return Error{ErrorClass::kArg, "a copy to another server that makes no sense", EINVAL};
  return request;
}

// Opens the file for which the key is valid.
Result<std::unique_ptr<Storage>> OutgoingCopy::reach() {
  const Endpoint at{request_.address, static_cast<int>(request_.port)};
  {   // a firewall may drop packets silently
    MERCUTIO_LET(const int fd, connect_until(at, now_ns() + kReachMs * 1'000'000));
    const Descriptor reached(fd);
  }
  Connection connection;
  connection.host = request_.host;
  connection.identity = request_.identity;
  std::memcpy(connection.key.data(), request_.key.data(), connection.key.size());
  connection.servers = {at};
  connection.streams = request_.streams;
  connection.lz4 = request_.lz4;
  MERCUTIO_LET(const auto session, Session::make(connection, 0));
  {
    std::lock_guard guard(mutex_);
    if (cancelled_) return cancelled();
    session_ = session;
  }
  OpenOptions writing;
  writing.write = true;
  return open_remote(session, request_.other, writing);
}

Status OutgoingCopy::send(Storage& target) {
  CopyEnds ends{*source_.file, target, source_.bytes, 0, source_.extents};
  MERCUTIO_LET(ends.there, target.size());
  return copy_content(ends, {request_.resume, request_.verify, request_.parallel}, [&](i64 bytes) -> Status {
    sent_bytes_ += bytes;
    std::lock_guard guard(mutex_);
    return cancelled_ ? Status(cancelled()) : ok_status();
  });
}

void OutgoingCopy::run() {
  const Status tried = attempt([&] {
    const auto target = reach();
    if (!target) return end(SendPhase::kNotReached, target.error()), ok_status();
    const Status sent = send(**target), closed = (*target)->close();
    end(sent && closed ? SendPhase::kDone : SendPhase::kFailed, sent ? closed : sent);
    return ok_status();
  });
  if (!tried) end(SendPhase::kFailed, tried);
  std::shared_ptr<Session> last;   // released without the lock, because its end waits for its threads
  std::lock_guard guard(mutex_);
  last.swap(session_);
}

void OutgoingCopy::end(SendPhase phase, const Status& how) {
  std::lock_guard guard(mutex_);
  if (!how) error_ = how.error();
  phase_ = phase;
}

void OutgoingCopy::cancel() {
  std::lock_guard guard(mutex_);
  cancelled_ = true;
  if (session_) session_->give_up(cancelled());
}

Reply OutgoingCopy::state() {
  std::lock_guard guard(mutex_);
  SentReply sent{static_cast<std::uint32_t>(phase_.load()), source_.bytes, {}};
  if (error_) put_message(sent.error, reply_of(*error_, ""));
  Reply reply;
  reply.value = sent_bytes_;
  put_message(reply.more, sent);
  return reply;
}

}  // namespace mercutio::remote
