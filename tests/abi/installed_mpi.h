// In place of src/mpi/abi: the header of an installed MPI, MERCUTIO_INSTALLED_HEADER, with the names that an older one lacks.
#pragma once

#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#ifdef MERCUTIO_LISTS_WITHOUT_CONST   // this header lacks the standard's const in these declarations, which no ABI sees
#define MPI_Request_get_status_any Installed_MPI_Request_get_status_any
#define MPI_Request_get_status_all Installed_MPI_Request_get_status_all
#define MPI_Request_get_status_some Installed_MPI_Request_get_status_some
#define PMPI_Request_get_status_any Installed_PMPI_Request_get_status_any
#define PMPI_Request_get_status_all Installed_PMPI_Request_get_status_all
#define PMPI_Request_get_status_some Installed_PMPI_Request_get_status_some
#endif
#include MERCUTIO_INSTALLED_HEADER
#ifdef MERCUTIO_LISTS_WITHOUT_CONST
#undef MPI_Request_get_status_any
#undef MPI_Request_get_status_all
#undef MPI_Request_get_status_some
#undef PMPI_Request_get_status_any
#undef PMPI_Request_get_status_all
#undef PMPI_Request_get_status_some
#endif

#ifndef MPI_CONVERSION_FN_NULL_C
using MPI_Datarep_conversion_function_c = int(void*, MPI_Datatype, MPI_Count, void*, MPI_Offset, void*);
#define MPI_CONVERSION_FN_NULL_C (static_cast<MPI_Datarep_conversion_function_c*>(nullptr))
#endif
