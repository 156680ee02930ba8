// In place of src/mpi/abi: the header of an installed MPI, MERCUTIO_INSTALLED_HEADER, with the names that an older one lacks.
#pragma once

#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#include MERCUTIO_INSTALLED_HEADER

#ifndef MPI_CONVERSION_FN_NULL_C
using MPI_Datarep_conversion_function_c = int(void*, MPI_Datatype, MPI_Count, void*, MPI_Offset, void*);
#define MPI_CONVERSION_FN_NULL_C (static_cast<MPI_Datarep_conversion_function_c*>(nullptr))
#endif
