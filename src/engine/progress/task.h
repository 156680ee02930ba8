// Task: the coroutine that executes a collective. Blocking calls poll it to its end. Progress polls the tasks of
// nonblocking and split calls.
//
// A coroutine suspends only in `co_await until(predicate)`. Only the innermost predicate is polled. An exception that leaves a task
// becomes its result, as an Error.
//   Task<Status> f(...) { ...; co_await until([&] { return message_done(); }); auto x = co_await other_task(); ... }
#pragma once

#include <coroutine>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include "base/attempt.h"
#include "base/frames.h"
#include "base/reserve.h"

namespace mercutio {

// The state that a root task shares with all tasks it awaits: the predicate that blocks it, and the coroutine to resume.
struct TaskDriver {
  std::function<bool()> blocked_on;
  std::coroutine_handle<> resume_at;
  std::exception_ptr thrown;   // by the predicate; rethrown in the waiting task
};

struct TaskPromiseBase {
  TaskDriver own;                  // used by a root task
  TaskDriver* driver = nullptr;
  std::coroutine_handle<> continuation;

  static void* operator new(std::size_t bytes) { return take_frame(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept { free_frame(frame, bytes); }
  std::suspend_always initial_suspend() noexcept { return {}; }
  struct Final {
    bool await_ready() noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
      auto next = h.promise().continuation;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };
  Final final_suspend() noexcept { return {}; }
};

template <class T>
class [[nodiscard]] Task {
 public:
  struct promise_type : TaskPromiseBase {
    std::optional<T> value;
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    template <class U>
    void return_value(U&& v) { value.emplace(std::forward<U>(v)); }
    void unhandled_exception() { value.emplace(current_error()); }
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // For root tasks: advances as far as possible without waiting. Returns true when the task is done. Does not throw.
  bool step() {
    const UsesReserve uses;
    if (handle_.done()) return true;
    TaskDriver& driver = handle_.promise().own;
    if (!handle_.promise().driver) {
      handle_.promise().driver = &driver;
      driver.resume_at = handle_;
    }
    while (!handle_.done()) {
      try {
        if (driver.blocked_on && !driver.blocked_on()) return false;
      } catch (...) {
        driver.thrown = std::current_exception();
      }
      driver.blocked_on = nullptr;
      driver.resume_at.resume();
    }
    return true;
  }
  T take() { return std::move(*handle_.promise().value); }

  // For tasks that await this one.
  struct Awaiter {
    std::coroutine_handle<promise_type> child;
    bool await_ready() noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> parent) noexcept {
      child.promise().driver = parent.promise().driver;
      child.promise().continuation = parent;
      return child;
    }
    T await_resume() { return std::move(*child.promise().value); }
  };
  Awaiter operator co_await() noexcept { return Awaiter{handle_}; }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

template <class Predicate>
struct Until {
  Predicate predicate;
  TaskDriver* driver = nullptr;
  bool await_ready() { return predicate(); }
  template <class P>
  void await_suspend(std::coroutine_handle<P> h) {
    driver = h.promise().driver;
    driver->blocked_on = [this] { return predicate(); };
    driver->resume_at = h;
  }
  void await_resume() {
    if (driver && driver->thrown) std::rethrow_exception(std::exchange(driver->thrown, nullptr));
  }
};
template <class Predicate>
Until<Predicate> until(Predicate predicate) { return Until<Predicate>{std::move(predicate), nullptr}; }

}  // namespace mercutio
