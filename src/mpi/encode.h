// TypeSpec -> MPI_Datatype, the inverse of decode, for MPI_File_get_view. A view does not keep a duplicate of the program's
// filetype, because a duplicate needs as much memory as the type: Open MPI uses 32 bytes per entry of a map.
#pragma once

#include "base/result.h"
#include "model/type_spec.h"
#include "mpi/mpi_header.h"

namespace mercutio {

// A committed type made by the same constructors, which the caller must free. A predefined type is returned itself and must not be
// freed. kType if the MPI refuses to make it.
Result<MPI_Datatype> encode(const TypeSpec& spec);

}  // namespace mercutio
