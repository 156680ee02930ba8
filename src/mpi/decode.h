// MPI_Datatype -> TypeSpec and FlatType, each once per type: the results are cached on the type as an attribute.
#pragma once

#include "base/result.h"
#include "model/flat_type.h"
#include "mpi/mpi_header.h"

namespace mercutio {

struct DecodedType {
  TypeSpecRef spec;
  bool committed = true;
};

// kType for MPI_DATATYPE_NULL and for types the MPI itself refuses to describe.
Result<DecodedType> decode(MPI_Datatype type);
// The same for a type that is to move data: kType if it was not committed.
Result<TypeSpecRef> decode_committed(MPI_Datatype type);
struct MemoryType {
  TypeSpecRef spec;
  FlatTypeRef flat;   // native sizes, coalesced
};
// What a committed type is in memory. Filetypes never come here: a view lowers them with the sizes of its file.
Result<MemoryType> decode_memory(MPI_Datatype type);
bool is_named(MPI_Datatype type);   // or predefined without a name (MPI_Type_create_f90_*): not to be freed
// A live MPI type with this spec (one that was decoded and not freed since), for conversion callbacks; else
// MPI_DATATYPE_NULL.
MPI_Datatype type_of(const TypeSpec* spec);
// The predefined type of a leaf, for conversion and extent callbacks; else MPI_DATATYPE_NULL.
MPI_Datatype predefined_of(const TypeSpec& named);

}  // namespace mercutio
