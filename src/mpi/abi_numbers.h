// Constants that src/mpi/abi can't tell. The MPIs of the standard ABI disagree on some: libmpi_abi of Intel MPI 2021.19 has the numbers of a
// draft. A program is built with its MPI's header, so the MPI that is there at run time counts.
#pragma once

#include "mpi/mpi_header.h"

namespace mercutio {

struct AbiNumbers {
  int seek_set, seek_current, seek_end;
  MPI_Errhandler errors_return;
  MPI_Errhandler errors_abort;   // MPI_ERRHANDLER_NULL: there is none
};

const AbiNumbers& abi_numbers();   // before MPI is initialised: the standard's

}  // namespace mercutio
