! The I/O chapter through `use mpi`. The cases are in the .inc files, which all three bindings share.
#include "types.inc"
module use_mpi_cases
contains
#include "manipulation.inc"
#include "access.inc"
#include "errors.inc"
#include "conversions.inc"
end module

program use_mpi
  use use_mpi_cases
  use mpi
  implicit none
  integer :: ierr, failed
#include "runs.inc"
  call ckdone(failed)
  call MPI_Finalize(ierr)
  if (failed /= 0) call exit(1)
end program
