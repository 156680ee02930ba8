// What calls of MPI in this folder have in common.
#pragma once

#include "base/result.h"
#include "mpi/mpi_header.h"

namespace mercutio {

// The MPI's own text.
Error mpi_error(const char* call, int code);

// Whether MPI_COMM_WORLD and MPI_COMM_SELF may be used: a program of sessions only has none.
bool world_initialised();

// While it lives, a communicator of the program's returns errors, for calls whose failure is an error of a file and not the end of
// the job. Not MPI_COMM_SELF, but under Open MPI. Calls of other threads on that communicator return theirs, too, so it lives no longer than such a call.
class ErrorsReturned {
 public:
  explicit ErrorsReturned(MPI_Comm comm);
  ErrorsReturned(const ErrorsReturned&) = delete;
  ErrorsReturned& operator=(const ErrorsReturned&) = delete;
  ~ErrorsReturned();

 private:
  MPI_Comm comm_;
};

}  // namespace mercutio
