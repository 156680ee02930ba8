// The predefined datatypes, and their properties for transfer and conversion (external32 sizes: MPI-4.1 table 14.2).
#pragma once

#include "model/type_spec.h"
#include "mpi/mpi_header.h"

namespace mercutio {

// The spec of a predefined datatype. Null for an unknown handle.
TypeSpecRef named_spec(MPI_Datatype type);
// MPI-1's LB and UB markers, if the header has them. They have bounds but no data.
bool is_bounds_marker(MPI_Datatype type);
// A type of `kind` with the type's native size, which is that in files, too.
TypeSpecRef sized_spec(Basic kind, MPI_Datatype type);
// The type of MPI_Type_create_f90_real or _complex for `digits` decimal digits: long double where that has as many and the same size.
TypeSpecRef f90_real_spec(MPI_Datatype type, bool complex, i64 digits);
// The named type of this spec, or one with the same properties; MPI_DATATYPE_NULL: none.
MPI_Datatype predefined_like(const TypeSpec& named);

}  // namespace mercutio
