// MPI_Info <-> key/value items.
#pragma once

#include "model/hints.h"
#include "mpi/mpi_header.h"

namespace mercutio {

InfoItems items_of(MPI_Info info);          // MPI_INFO_NULL: empty
MPI_Info info_of(const InfoItems& items);   // a new MPI_Info, owned by the caller; values are truncated to MPI_MAX_INFO_VAL - 1

}  // namespace mercutio
