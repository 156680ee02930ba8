#include "mpi/calls.h"

#include <string>

namespace mercutio {
Error mpi_error(const char* call, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  PMPI_Error_string(code, text, &length);
  return Error{ErrorClass::kOther, std::string(call) + ": " + text};
}

Result<Slots::Range> range_over(MPI_Comm comm, i64 mine) {
  std::int64_t both[] = {mine, -mine}, all[2] = {};
  const int code = PMPI_Allreduce(both, all, 2, MPI_INT64_T, MPI_MAX, comm);
  if (code != MPI_SUCCESS) return mpi_error("MPI_Allreduce", code);
  return Slots::Range{-all[1], all[0]};
}

}  // namespace mercutio
