// No exception leaves the library or ends a thread of it: where one could, it becomes an Error here.
#pragma once

#include <utility>

#include "base/result.h"

namespace mercutio {

// The Error of the exception that is being handled. Needs no memory where there is none. The cancellation of a thread
// goes on.
Error current_error();

// What f() returns (a Result or Status), or the Error of the exception that it threw.
template <class F>
auto attempt(F&& f) -> decltype(f()) {
  try {
    return std::forward<F>(f)();
  } catch (...) {
    return current_error();
  }
}

// What f() returns; `otherwise` where it threw.
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
