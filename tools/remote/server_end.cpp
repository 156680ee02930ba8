#include "server_end.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>

#include "base/attempt.h"
#include "base/threads.h"
#include "remote/session.h"

namespace mercutio::remote {
namespace {

constexpr size_t kMostThreads = 32;   // each a session, with its threads

Result<i64> end_one(const Connection& connection, i64 server, bool even_if_used) {
  MERCUTIO_LET(const auto session, Session::make(connection, server));
  NameRequest request;
  request.replace = even_if_used;
  Buffer message;
  put_message(message, request);
  const Result<Reply> reply = session->call(Kind::kEnd, std::move(message));
  if (reply) return reply->value;
  if (reply.error().sys_errno == ECONNREFUSED) return i64{0};
  return reply.error();
}

}  // namespace

Result<i64> end_servers(const Connection& connection, bool even_if_used) {
  std::vector<std::optional<Result<i64>>> ended(connection.servers.size());
  std::atomic<size_t> next{0};
  const auto take = [&] {
    for (size_t i = 0; (i = next.fetch_add(1)) < ended.size();) {
      const Status done = attempt([&] {
        ended[i] = end_one(connection, static_cast<i64>(i), even_if_used);
        return ok_status();
      });
      if (!done) ended[i] = Result<i64>(done.error());
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(kMostThreads);   // none may be left running
  for (size_t i = 1; i < std::min(kMostThreads, ended.size()); ++i) {
    auto started = start_thread(take);
    if (!started) break;   // those that there are do all of it
    threads.push_back(std::move(*started));
  }
  take();
  for (std::thread& thread : threads) thread.join();
  i64 others = 0;
  std::optional<Error> wrong;   // that a server is used says more than that another one doesn't answer
  for (const auto& one : ended) {
    if (*one)
      others += **one;
    else if (!wrong || one->error().sys_errno == EBUSY)
      wrong = one->error();
  }
  return wrong ? Result<i64>(*wrong) : Result<i64>(others);
}

}  // namespace mercutio::remote
