#include "api/call.h"

namespace mercutio {

// If there is no memory for the text, the class is returned, which is a valid code.
static int code_of(OpenHandle* handle, const char* operation, const Error& error) {
  return attempt_or(mpi_class(error.cls), [&] {
    const std::string plain = std::string(operation) + ": " + error.what;
    const std::string text = handle ? handle->file->describe(operation, error) : plain;
    return process().codes.code_for(error.cls, text);
  });
}

int fail(OpenHandle* handle, const char* operation, const Error& error) {
  Process& p = process();
  const int code = code_of(handle, operation, error);
  MPI_Errhandler handler = handle ? handle->errhandler : p.handles.default_errhandler();
  return p.errhandlers.invoke(handler, handle ? handle->mpi() : MPI_FILE_NULL, handle ? handle->comm : MPI_COMM_SELF, code);
}

int fail_after_throw(OpenHandle* handle, const char* operation) {
  if (Errhandlers::has_thrown()) throw;
  const Error error = current_error();
  try {
    return fail(handle, operation, error);
  } catch (...) {   // thrown by a handler, or no memory for the state of the process
    if (Errhandlers::has_thrown()) throw;
    return mpi_class(error.cls);
  }
}

int fail_bad_handle(const char* operation) {
  return fail(nullptr, operation, Error{ErrorClass::kFile, "the file handle is MPI_FILE_NULL or not an open file"});
}

void set_status(MPI_Status* status, i64 bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  PMPI_Status_set_elements_x(status, MPI_BYTE, bytes);
  PMPI_Status_set_cancelled(status, 0);
}

}  // namespace mercutio
