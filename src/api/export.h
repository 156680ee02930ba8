// Exports a function in place of the MPI's: strong PMPI_x, weak MPI_x.
#pragma once

#include "mpi/mpi_header.h"

#define MERCUTIO_EXPORT __attribute__((visibility("default")))

// MERCUTIO_MPI_FUNCTION(int, File_open, (MPI_Comm comm, ...)) { body }
#define MERCUTIO_MPI_FUNCTION(result, name, parameters)                                                     \
  extern "C" MERCUTIO_EXPORT result PMPI_##name parameters;                                                 \
  extern "C" MERCUTIO_EXPORT __attribute__((weak, alias("PMPI_" #name))) result MPI_##name parameters;      \
  result PMPI_##name parameters
