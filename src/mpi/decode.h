// MPI_Datatype -> TypeSpec and FlatType. Each is computed once per type and cached on the type as an attribute.
#pragma once

#include <utility>

#include "base/result.h"
#include "model/flat_type.h"
#include "mpi/mpi_header.h"

namespace mercutio {

struct DecodedType {
  TypeSpecRef spec;
  bool committed = true;
};

// `comm`, here and below: the file's, which returns errors. Whether a type is committed is asked on it.
// kType for MPI_DATATYPE_NULL and for types that the MPI refuses to describe.
Result<DecodedType> decode(MPI_Datatype type, MPI_Comm comm);
// The same for a type of a data transfer. kType if the type is not committed.
Result<TypeSpecRef> decode_committed(MPI_Datatype type, MPI_Comm comm);
struct MemoryType {
  TypeSpecRef spec;
  FlatTypeRef flat;   // native sizes, coalesced
};
// What decode_memory() gives for a type that is never freed, if this thread has asked for it before. Null: it hasn't, or the type may be freed.
struct NamedMemory {
  const TypeSpec* spec = nullptr;
  const FlatType* flat = nullptr;
};
NamedMemory named_memory(MPI_Datatype type);
// The memory layout of a committed type. Not for filetypes: views lower them with the sizes of their data representation.
Result<MemoryType> decode_memory(MPI_Datatype type, MPI_Comm comm);
// What is known of types that may be freed is asked for again: the MPI may end, and then begin again without its attributes.
void forget_types();
bool is_named(MPI_Datatype type);   // named, or predefined without a name (MPI_Type_create_f90_*): must not be freed
// A live MPI type with this spec (one that was decoded and has not been freed), for conversion callbacks. MPI_DATATYPE_NULL: none.
MPI_Datatype type_of(const TypeSpec* spec);
// A duplicate of the type of a pending access, which type_of() finds once the program has freed its own. Empty for a type that is
// never freed, and without memory for it. Its destruction calls MPI.
class KeptType {
 public:
  KeptType() = default;
  KeptType(MPI_Datatype type, MPI_Comm comm);
  KeptType(KeptType&& other) noexcept { std::swap(type_, other.type_); }
  KeptType& operator=(KeptType&& other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  ~KeptType();

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};
// The predefined type of this spec, for conversion and extent callbacks and for encode(). MPI_DATATYPE_NULL: none.
MPI_Datatype predefined_of(const TypeSpec& spec);

}  // namespace mercutio
