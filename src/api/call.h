// The common part of all entry points: find the file, convert an Error to a code, call the error handler. Exceptions inside a call
// become errors of the call.
#pragma once

#include "api/process.h"
#include "base/attempt.h"
#include "base/reserve.h"

namespace mercutio {

// Calls the error handler for an Error of `operation` on `handle` and returns the code. Null handle: no file, as in open and
// delete.
int fail(OpenHandle* handle, const char* operation, const Error& error);
// For handles that are not open files: calls the handler of MPI_FILE_NULL with MPI_ERR_FILE.
int fail_bad_handle(const char* operation);

inline int finish(OpenHandle* handle, const char* operation, const Status& status) {
  return status ? MPI_SUCCESS : fail(handle, operation, status.error());
}

// For use in a catch block: returns the code. An exception thrown by an error handler of the program is rethrown.
int fail_after_throw(OpenHandle* handle, const char* operation);

// Runs body() -> int of `operation` on `handle` (null: no file). `body` may set `handle`. Inline, or each small access would first store what
// the bodies refer to.
template <class Body>
[[gnu::always_inline]] inline int guarded(OpenHandle* const& handle, const char* operation, const Body& body) {
  const UsesReserve uses;
  Errhandlers::CallScope scope;
  int code = MPI_SUCCESS;
  try {
    code = body();
  } catch (...) {
    code = fail_after_throw(handle, operation);
  }
  scope.returns();
  return code;
}
// The same for functions that return no code. On an error they return `otherwise`.
template <class T, class Body>
T guarded_or(T otherwise, const Body& body) {
  const UsesReserve uses;
  return attempt_or(otherwise, body);
}

// Runs body(OpenHandle&) -> int on a live handle.
template <class Body>
[[gnu::always_inline]] inline int with_file(MPI_File file, const char* operation, const Body& body) {
  OpenHandle* handle = nullptr;
  return guarded(handle, operation, [&]() __attribute__((always_inline)) {
    handle = process().handles.find(file);
    return handle ? body(*handle) : fail_bad_handle(operation);
  });
}
// The same for bodies that return Status.
template <class Body>
int run_on_file(MPI_File file, const char* operation, const Body& body) {
  return with_file(file, operation, [&](OpenHandle& handle) { return finish(&handle, operation, body(handle)); });
}

void store_in(MPI_Status& status, i64 bytes);
// Stores the number of bytes in `status`, which may be MPI_STATUS_IGNORE.
inline void set_status(MPI_Status* status, i64 bytes) {
  if (status != MPI_STATUS_IGNORE) store_in(*status, bytes);
}

}  // namespace mercutio
