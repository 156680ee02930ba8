// The one place that includes the MPI's header. MERCUTIO_ABI_STANDARD: the MPI-5 standard ABI; otherwise MPICH's or Open
// MPI's own. Calls go to PMPI_*: a tool that wraps MPI_* sees the program's calls only.
#pragma once

#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#ifdef MERCUTIO_ABI_STANDARD
#include <mpi_abi.h>
#else
#include <mpi.h>
#endif

namespace mercutio {
using Fint = int;   // MPI_Fint of every MPI this is built for
}

#ifndef MPI_CONVERSION_FN_NULL_C
// MPI-4 names that an MPI-3.1 header lacks.
typedef int(MPI_Datarep_conversion_function_c)(void*, MPI_Datatype, MPI_Count, void*, MPI_Offset, void*);
#define MPI_CONVERSION_FN_NULL_C ((MPI_Datarep_conversion_function_c*)nullptr)
#endif
