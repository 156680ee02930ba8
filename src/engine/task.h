// Task: the coroutine that is the body of every collective. Whoever waits drives: `run` polls it to its end (blocking
// calls), Progress polls it beside others (nonblocking calls), a File keeps it between _begin and _end (split calls).
//
// A coroutine suspends only in `co_await until(predicate)`; the innermost predicate is polled, nothing else runs.
//   Task<Status> f(...) { ...; co_await until([&] { return message_done(); }); auto x = co_await other_task(); ... }
#pragma once

#include <coroutine>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"

namespace mercutio {

// What a root task shares with everything it awaits: the predicate it is stuck on and the handle to go on with.
struct TaskDriver {
  std::function<bool()> blocked_on;
  std::coroutine_handle<> resume_at;
};

struct TaskPromiseBase {
  TaskDriver* driver = nullptr;
  std::coroutine_handle<> continuation;

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
  void unhandled_exception() { std::terminate(); }   // the engine reports by Result; bad_alloc has nowhere to go
};

template <class T>
class [[nodiscard]] Task {
 public:
  struct promise_type : TaskPromiseBase {
    std::optional<T> value;
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    template <class U>
    void return_value(U&& v) { value.emplace(std::forward<U>(v)); }
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), driver_(std::move(other.driver_)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(driver_, other.driver_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // Root use: step() advances as far as possible without waiting; true when the task is done.
  bool step() {
    if (handle_.done()) return true;
    if (!driver_) {
      driver_ = std::make_unique<TaskDriver>();
      handle_.promise().driver = driver_.get();
      driver_->resume_at = handle_;
    }
    while (!handle_.done()) {
      if (driver_->blocked_on && !driver_->blocked_on()) return false;
      driver_->blocked_on = nullptr;
      driver_->resume_at.resume();
    }
    return true;
  }
  T take() { return std::move(*handle_.promise().value); }

  // Awaiting from another task.
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
  Awaiter operator co_await() & noexcept { return Awaiter{handle_}; }
  Awaiter operator co_await() && noexcept { return Awaiter{handle_}; }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
  std::unique_ptr<TaskDriver> driver_;
};

template <class Predicate>
struct Until {
  Predicate predicate;
  bool await_ready() { return predicate(); }
  template <class P>
  void await_suspend(std::coroutine_handle<P> h) {
    TaskDriver* driver = h.promise().driver;
    driver->blocked_on = [this] { return predicate(); };
    driver->resume_at = h;
  }
  void await_resume() noexcept {}
};
template <class Predicate>
Until<Predicate> until(Predicate predicate) { return Until<Predicate>{std::move(predicate)}; }

// Polls `task` to its end, calling idle(n) when nothing moved for the n-th time in a row.
template <class T, class Idle>
T run(Task<T> task, Idle&& idle) {
  i64 spins = 0;
  while (!task.step()) idle(++spins);
  return task.take();
}

}  // namespace mercutio
