// Helpers for tasks that wait for messages. Inside engine/ only.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/agreement/collectives.h"

// MERCUTIO_TRY for coroutines.
#define MERCUTIO_CO_TRY(expr)                                                  \
  do {                                                                         \
    auto mercutio_co_result_ = (expr);                                         \
    if (!mercutio_co_result_) co_return std::move(mercutio_co_result_).error(); \
  } while (0)

namespace mercutio {

// Messages in flight, and the first Error of any of them. A failed message counts as complete: check status() after done().
class MessageSet {
 public:
  void add(Result<std::unique_ptr<Message>> started) {
    if (started) {
      messages_.push_back(std::move(*started));
    } else {
      fail(std::move(started).error());
    }
  }
  // True when all messages are complete, or when one has failed.
  bool done() {
    std::erase_if(messages_, [this](std::unique_ptr<Message>& message) {
      auto result = message->test();
      if (!result) fail(std::move(result).error());
      return !result || *result;
    });
    return messages_.empty() || !status_.ok();
  }
  const Status& status() const { return status_; }
  // Whether all messages are complete, without an Error. An Error goes to `first`, unless that has one.
  bool arrived(Status& first) {
    if (!done()) return false;
    if (!status_ && first) first = status_;
    return status_.ok();
  }

 private:
  void fail(Error error) {
    if (status_.ok()) status_ = std::move(error);
  }
  std::vector<std::unique_ptr<Message>> messages_;
  Status status_ = ok_status();
};

// Values as the bytes of a message.
template <class T>
Bytes bytes_of(std::span<T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::as_writable_bytes(values);
}
template <class T>
ConstBytes const_bytes_of(std::span<T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::as_bytes(values);
}

// Values of one size that another rank sends one after the other.
template <class T>
struct Incoming {
  T value{};
  std::unique_ptr<Message> message;   // last member: cancelled before the memory it uses is freed

  // Whether the next value has come.
  Result<bool> next(const Channel& channel, i64 from, i64 behind = 0) {
    if (!message) {
      MERCUTIO_LET(message, channel.receive(from, bytes_of(std::span(&value, 1)), behind));
    }
    Result<bool> come = message->test();
    if (!come || *come) message.reset();
    return come;
  }
};

}  // namespace mercutio
