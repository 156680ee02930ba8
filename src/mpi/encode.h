// TypeSpec -> MPI_Datatype: the way back, for MPI_File_get_view. A view keeps no handle of the program's filetype, because a
// duplicate costs what the type costs: Open MPI spends 32 bytes an entry of a map.
#pragma once

#include "base/result.h"
#include "model/type_spec.h"
#include "mpi/mpi_header.h"

namespace mercutio {

// A committed type made by the same constructors, to be freed by the caller; a predefined one is itself, not to be freed.
// kType where the MPI refuses to make it.
Result<MPI_Datatype> encode(const TypeSpec& spec);

}  // namespace mercutio
