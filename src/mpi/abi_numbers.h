// Constants that cannot be fixed in src/mpi/abi because MPIs of the standard ABI disagree on them: libmpi_abi of Intel MPI 2021.19
// has the values of a draft. A program is built with its MPI's header, so the values are those of the MPI found at run time.
#pragma once

#include "mpi/mpi_header.h"

namespace mercutio {

struct AbiNumbers {
  int seek_set, seek_current, seek_end;
  MPI_Errhandler errors_return;
  MPI_Errhandler errors_abort, errors_throw;   // MPI_ERRHANDLER_NULL: the MPI has none
};

const AbiNumbers& abi_numbers();   // before MPI is initialised: the standard's values

}  // namespace mercutio
