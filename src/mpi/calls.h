// What calls of MPI in this folder have in common.
#pragma once

#include "base/result.h"
#include "comm/slots.h"
#include "mpi/mpi_header.h"

namespace mercutio {

// The MPI's own text.
Error mpi_error(const char* call, int code);

// Collective.
Result<Slots::Range> range_over(MPI_Comm comm, i64 mine);

}  // namespace mercutio
