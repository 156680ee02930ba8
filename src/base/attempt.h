// Exceptions never leave the library and never end one of its threads. These functions turn them into Errors.
#pragma once

#include <new>
#include <stdexcept>
#include <utility>

#include "base/result.h"

namespace mercutio {

// The Error for the exception that is being handled. Allocates nothing if memory is exhausted. Rethrows the cancellation of a
// thread.
Error current_error();

// The result of f() (a Result or Status), or the Error of the exception that f() threw.
template <class F>
auto attempt(F&& f) -> decltype(f()) {
  try {
    return std::forward<F>(f)();
  } catch (...) {
    return current_error();
  }
}

// The same where memory was exhausted, or something would be larger than any memory. Other exceptions pass.
template <class F>
auto attempt_memory(F&& f) -> decltype(f()) {
  try {
    return std::forward<F>(f)();
  } catch (const std::bad_alloc&) {
    return current_error();
  } catch (const std::length_error&) {
    return current_error();
  }
}

// The result of f(), or `otherwise` if f() threw.
template <class T, class F>
T attempt_or(T otherwise, F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (...) {
    (void)current_error();
    return otherwise;
  }
}

}  // namespace mercutio
