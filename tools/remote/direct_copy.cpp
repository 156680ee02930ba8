#include "direct_copy.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

namespace mercutio::remote {
namespace {

constexpr i64 kFirstLookMs = 5, kLongestLookMs = 250;   // between two looks at how far it is

// A server that is too old, or may not, or has too much to do: the copy can be made in another way.
bool goes_otherwise(const Error& error) {
  return error.cls == ErrorClass::kUnsupportedOperation || error.sys_errno == EUSERS;
}

template <class Message>
Result<Reply> ask(Session& session, Kind kind, const Message& request) {
  Buffer message;
  put_message(message, request);
  return session.call(kind, std::move(message));
}

PlainRequest about(u64 target) {
  PlainRequest request;
  request.target = target;
  return request;
}

Result<SendRequest> request_for(const DirectEnds& ends, const CopySettings& settings, Session& there) {
  MERCUTIO_LET(const Reply reply, ask(there, Kind::kGrant, about(ends.file.handle())));
  MERCUTIO_LET(const GrantReply granted, get_message<GrantReply>(reply.more));
  const Connection& connection = there.connection();
  SendRequest request;
  request.path = ends.path;
  request.other = ends.part;
  request.host = connection.host;
  request.address = there.server().address;
  request.port = there.server().port;
  request.identity = granted.identity;
  request.key = granted.key;
  request.streams = connection.streams;
  request.parallel = settings.parallel;
  request.lz4 = connection.lz4;
  request.resume = settings.resume;
  request.verify = settings.verify;
  return request;
}

// To its end.
Result<std::string> follow(Session& here, u64 copy, const std::function<void(i64 done)>& moved) {
  for (i64 wait_ms = kFirstLookMs;; wait_ms = std::min(2 * wait_ms, kLongestLookMs)) {
    MERCUTIO_LET(const Reply reply, ask(here, Kind::kSent, about(copy)));
    MERCUTIO_LET(const SentReply sent, get_message<SentReply>(reply.more));
    moved(reply.value);
    const auto phase = static_cast<SendPhase>(sent.phase);
    if (phase == SendPhase::kDone) return std::string();
    if (phase != SendPhase::kUnderWay) {
      MERCUTIO_LET(Reply failed, get_message<Reply>(sent.error));
      if (failed.host.empty()) failed.host = here.connection().host;
      const Error error = error_of(failed);
      return phase == SendPhase::kNotReached ? Result<std::string>(error.what) : Result<std::string>(error);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
  }
}

}  // namespace

Result<std::string> copy_directly(const DirectEnds& ends, const CopySettings& settings, const std::function<void(i64 done)>& moved) {
  MERCUTIO_LET(const auto here, ends.from.session());
  MERCUTIO_LET(const auto there, ends.to.session());
  if (!there->connection().hops.empty()) return "only routers lead to " + there->connection().host;
  const auto request = request_for(ends, settings, *there);
  if (!request) return goes_otherwise(request.error()) ? Result<std::string>(request.error().what) : Result<std::string>(request.error());
  const auto sent = ask(*here, Kind::kSend, *request);
  if (!sent) return goes_otherwise(sent.error()) ? Result<std::string>(sent.error().what) : Result<std::string>(sent.error());
  return follow(*here, static_cast<u64>(sent->value), moved);
}

}  // namespace mercutio::remote
