// What every entry point does around its one call of file/: find the file, turn an Error into a code, call the handler.
// Each one is guarded: what is thrown inside becomes an error of the call.
#pragma once

#include "api/process.h"
#include "base/attempt.h"
#include "base/reserve.h"

namespace mercutio {

// The code of an Error of `operation` on `handle` (null: no file, as in open and delete), after the handler was called.
int fail(OpenHandle* handle, const char* operation, const Error& error);
// For handles that are not open files: MPI_ERR_FILE, through the handler of MPI_FILE_NULL.
int fail_bad_handle(const char* operation);

inline int finish(OpenHandle* handle, const char* operation, const Status& status) {
  return status ? MPI_SUCCESS : fail(handle, operation, status.error());
}

// In a handler for any exception: the code to return. What a handler of the program has thrown goes on to the program.
int fail_after_throw(OpenHandle* handle, const char* operation);

// Runs body() -> int of `operation` on `handle` (null: no file), which `body` may set.
template <class Body>
int guarded(OpenHandle* const& handle, const char* operation, Body body) {
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
// The same for functions without a code of their own: `otherwise` is returned instead.
template <class T, class Body>
T guarded_or(T otherwise, Body body) {
  const UsesReserve uses;
  return attempt_or(otherwise, body);
}

// Runs body(OpenHandle&) -> int on a live handle.
template <class Body>
int with_file(MPI_File file, const char* operation, Body body) {
  OpenHandle* handle = nullptr;
  return guarded(handle, operation, [&] {
    handle = process().handles.find(file);
    return handle ? body(*handle) : fail_bad_handle(operation);
  });
}
// The same for bodies that return Status.
template <class Body>
int run_on_file(MPI_File file, const char* operation, Body body) {
  return with_file(file, operation, [&](OpenHandle& handle) { return finish(&handle, operation, body(handle)); });
}

// Bytes moved -> status; MPI_STATUS_IGNORE allowed.
void set_status(MPI_Status* status, i64 bytes);

}  // namespace mercutio
