#include "server_end.h"

#include <cerrno>

#include "remote/session.h"

namespace mercutio::remote {

Result<i64> end_server(const Connection& connection, bool even_if_used) {
  i64 others = 0;
  for (size_t i = 0; i < connection.servers.size(); ++i) {
    MERCUTIO_LET(const auto session, Session::make(connection, static_cast<i64>(i)));
    NameRequest request;
    request.replace = even_if_used;
    Buffer message;
    put_message(message, request);
    const Result<Reply> reply = session->call(Kind::kEnd, std::move(message));
    if (reply)
      others += reply->value;
    else if (reply.error().sys_errno != ECONNREFUSED)
      return reply.error();
  }
  return others;
}

}  // namespace mercutio::remote
