// The ABI for which a backend is built, selected by one of MERCUTIO_ABI_MPICH, MERCUTIO_ABI_OPENMPI and MERCUTIO_ABI_STANDARD.
// Types, constants and prototypes are our own (mpi/abi), so no MPI is needed to build. tests/abi compares them with each installed
// mpi.h, which it includes instead. Calls go to PMPI_*, so a tool that wraps MPI_* sees only the program's calls.
#pragma once

#if defined(MERCUTIO_MPI_HEADER)
#include MERCUTIO_MPI_HEADER
#elif defined(MERCUTIO_ABI_MPICH)
#include "mpi/abi/mpich.h"
#elif defined(MERCUTIO_ABI_OPENMPI)
#include "mpi/abi/openmpi.h"
#elif defined(MERCUTIO_ABI_STANDARD)
#include "mpi/abi/standard.h"
#else
#error "no ABI: the sources of src/mpi and src/api are built by src/api/CMakeLists.txt"
#endif

namespace mercutio {
using Fint = int;   // MPI_Fint of every supported MPI
}

static_assert(sizeof(void*) == 8 && sizeof(long) == 8, "the ABIs of src/mpi/abi are those of 64-bit systems");
static_assert(sizeof(MPI_Aint) == 8 && sizeof(MPI_Count) == 8 && sizeof(MPI_Offset) == 8);
