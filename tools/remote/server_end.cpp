#include "server_end.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <optional>

#include "base/attempt.h"
#include "base/threads.h"
#include "remote/session.h"

namespace mercutio::remote {
namespace {

constexpr int kTries = 5, kPauseMs = 100;
constexpr size_t kMostThreads = 32;   // each a session, with its threads

Result<i64> ask(const Connection& connection, i64 server, Kind kind, Buffer message) {
  MERCUTIO_LET(const auto session, Session::make(connection, server));
  const Result<Reply> reply = session->call(kind, std::move(message));
  if (reply) return reply->value;
  const bool ended = session->server_ended() || reply.error().sys_errno == ECONNREFUSED;
  if (ended && !connection.forwarded) return i64{0};   // else it is ssh that has ended
  return reply.error();
}

// What all of them say together. That a server is used says more than that another one doesn't answer.
struct Answers {
  i64 others = 0;
  std::optional<Error> wrong;
};
Answers ask_all(const Connection& connection, Kind kind, const Buffer& message) {
  std::vector<std::optional<Result<i64>>> answers(connection.servers.size());
  each_at_once(answers.size(), [&](size_t i) { answers[i] = ask(connection, static_cast<i64>(i), kind, message); });
  Answers all;
  for (const auto& one : answers) {
    if (one && *one)
      all.others += **one;
    else if (!all.wrong || (one && one->error().sys_errno == EBUSY))
      all.wrong = one ? one->error() : Error{ErrorClass::kNoMem, "a server could not be asked", ENOMEM};
  }
  return all;
}

// None ends where one is used: a program that uses the connection has ranks at all of them.
Result<i64> end_if_unused(const Connection& connection, bool even_if_used) {
  Buffer users, end;
  put_message(users, PlainRequest{});
  NameRequest request;
  request.replace = even_if_used;
  put_message(end, request);
  if (!even_if_used && connection.servers.size() > 1) {
    const i64 used = ask_all(connection, Kind::kUsers, users).others;
    if (used > 0) return Error{ErrorClass::kFileInUse, "programs use its servers: " + std::to_string(used), EBUSY};
  }
  const Answers ended = ask_all(connection, Kind::kEnd, end);
  return ended.wrong ? Result<i64>(*ended.wrong) : Result<i64>(ended.others);
}

}  // namespace

void each_at_once(size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  const auto take = [&] {
    for (size_t i = 0; (i = next.fetch_add(1)) < count;) {
      (void)attempt([&] {
        work(i);
        return ok_status();
      });
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(kMostThreads);   // none may be left running
  for (size_t i = 1; i < std::min(kMostThreads, count); ++i) {
    auto started = start_thread(take);
    if (!started) break;   // those that there are do all of it
    threads.push_back(std::move(*started));
  }
  take();
  for (std::thread& thread : threads) thread.join();
}

// A server takes a moment to see that the command before this one has left.
Result<i64> end_servers(const Connection& connection, bool even_if_used) {
  for (int tries = 1;; ++tries) {
    const Result<i64> ended = end_if_unused(connection, even_if_used);
    if (ended || ended.error().sys_errno != EBUSY || tries == kTries) return ended;
    std::this_thread::sleep_for(std::chrono::milliseconds(kPauseMs));
  }
}

}  // namespace mercutio::remote
