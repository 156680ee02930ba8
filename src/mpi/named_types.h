// The predefined datatypes: what has to be known to move and convert each (external32 sizes: MPI-4.1 table 14.2).
#pragma once

#include "model/type_spec.h"
#include "mpi/mpi_header.h"

namespace mercutio {

// The spec of a predefined datatype, pairs (MPI_DOUBLE_INT) as structs; null for an unknown handle.
TypeSpecRef named_spec(MPI_Datatype type);
// LB/UB markers of MPI-1, where a header still has them: no data, only bounds.
bool is_bounds_marker(MPI_Datatype type);
// F90-parameterised types (MPI_Type_create_f90_*): by kind and native size.
TypeSpecRef sized_spec(Basic kind, MPI_Datatype type);
// The predefined type this spec is of, else one with the same properties, else MPI_DATATYPE_NULL.
MPI_Datatype predefined_like(const TypeSpec& named);

}  // namespace mercutio
