// Helpers for the calls of MPI in this folder.
#pragma once

#include <vector>

#include "base/result.h"
#include "mpi/mpi_header.h"

namespace mercutio {

// An Error with the MPI's own text, for a call that failed on `comm`.
Error mpi_error(const char* call, int code, MPI_Comm comm);

bool is_open_mpi_4();   // also before MPI_Init
// Whether MPI_COMM_WORLD and MPI_COMM_SELF may be used: from MPI_Init to MPI_Finalize. A program that uses only sessions has neither.
bool world_active();
// The ranks in MPI_COMM_WORLD of the members of `comm`, in their order; MPI_UNDEFINED: of those that are not in it. Empty if there is no
// MPI_COMM_WORLD, or if `comm` has no such list.
std::vector<int> ranks_in_world(MPI_Comm comm);
// The number of this process, and of how many: in MPI_COMM_WORLD; in a program that uses only sessions in their "mpi://WORLD"; where the MPI knows none
// of these in `comm`, if that is not MPI_COMM_NULL. Local.
struct PlaceInJob {
  int rank = 0, size = 1;
};
PlaceInJob place_in_job(MPI_Comm comm);

// While an object of this class exists, a communicator of the program returns errors. It is for calls whose failure is an error of
// a file and must not end the job. It has no effect on MPI_COMM_SELF except under Open MPI.
//
// A handler that the program sets meanwhile stays set, and receives our errors, too; but MPI_ERRORS_RETURN is taken for ours. Calls of
// other threads on that communicator return their errors as well, so the object must not outlive the call it protects. A handler of
// our own could not pass them on, because MPICH calls it while it holds its lock.
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
