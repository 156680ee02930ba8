#include "mpi/named_types.h"

#include <algorithm>
#include <cfloat>
#include <iterator>
#include <mutex>
#include <vector>

namespace mercutio {
namespace {

struct NamedType {
  MPI_Datatype type;
  Basic kind;
  i64 external_bytes;
  i64 native_bytes = 0;   // 0: the MPI is asked
  TypeSpecRef spec = {};  // one per handle: MPI_INT and MPI_INTEGER are equal, but callbacks get the handle that the program used. Null: not made yet
};

i64 native_size(MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return size;
}

BasicType basic_of(const NamedType& entry) {
  return {entry.kind, entry.native_bytes > 0 ? entry.native_bytes : native_size(entry.type), entry.external_bytes};
}

// Of the predefined types. Specs are made when they are asked for: to make all took a first access longer than all else.
struct Table {
  std::mutex mutex;
  std::vector<NamedType> types;

  TypeSpecRef spec_of(MPI_Datatype type) {
    std::lock_guard lock(mutex);
    const auto found = std::ranges::find(types, type, &NamedType::type);
    if (found == types.end()) return nullptr;
    if (!found->spec) found->spec = make_named(basic_of(*found));
    return found->spec;
  }
  MPI_Datatype type_of(const TypeSpec& spec) {
    std::lock_guard lock(mutex);
    auto found = std::ranges::find_if(types, [&](const NamedType& entry) { return entry.spec.get() == &spec; });
    if (found == types.end()) found = std::ranges::find(types, spec.basic, basic_of);
    return found != types.end() ? found->type : MPI_DATATYPE_NULL;
  }
};

// Types that only some MPIs have. Others may not be asked for their sizes, which are the same in memory.
std::vector<NamedType> types_of_some() {
  return {
      {MPI_LOGICAL1, Basic::kLogical, 1, 1},
      {MPI_LOGICAL2, Basic::kLogical, 2, 2},
      {MPI_LOGICAL4, Basic::kLogical, 4, 4},
      {MPI_LOGICAL8, Basic::kLogical, 8, 8},
#ifndef MERCUTIO_ABI_OPENMPI
      {MPI_INTEGER16, Basic::kSigned, 16, 16},
      {MPI_LOGICAL16, Basic::kLogical, 16, 16},
      {MPI_REAL2, Basic::kFloat, 2, 2},
      {MPI_COMPLEX4, Basic::kComplexFloat, 4, 4},
#endif
#ifdef MERCUTIO_ABI_MPICH
      {MPIX_C_FLOAT16, Basic::kFloat, 2, 2},
#endif
  };
}

Table* table_of(std::vector<NamedType> types) {
  std::ranges::copy(types_of_some(), std::back_inserter(types));
  std::erase_if(types, [](const NamedType& entry) { return entry.type == MPI_DATATYPE_NULL; });
  return new Table{{}, std::move(types)};
}

// Not a static table, because Open MPI's handles are addresses that are known only at run time.
Table& named_types() {
  static Table* const table = table_of({
      {MPI_BYTE, Basic::kByte, 1},
      {MPI_PACKED, Basic::kByte, 1},
      {MPI_CHAR, Basic::kChar, 1},
      {MPI_SIGNED_CHAR, Basic::kChar, 1},
      {MPI_UNSIGNED_CHAR, Basic::kChar, 1},
      {MPI_WCHAR, Basic::kWideChar, 2},
      {MPI_SHORT, Basic::kSigned, 2},
      {MPI_UNSIGNED_SHORT, Basic::kUnsigned, 2},
      {MPI_INT, Basic::kSigned, 4},
      {MPI_UNSIGNED, Basic::kUnsigned, 4},
      {MPI_LONG, Basic::kSigned, 4},
      {MPI_UNSIGNED_LONG, Basic::kUnsigned, 4},
      {MPI_LONG_LONG, Basic::kSigned, 8},
      {MPI_UNSIGNED_LONG_LONG, Basic::kUnsigned, 8},
      {MPI_FLOAT, Basic::kFloat, 4},
      {MPI_DOUBLE, Basic::kFloat, 8},
      {MPI_LONG_DOUBLE, Basic::kLongDouble, 16},
      {MPI_C_BOOL, Basic::kLogical, 1},
      {MPI_INT8_T, Basic::kSigned, 1},
      {MPI_INT16_T, Basic::kSigned, 2},
      {MPI_INT32_T, Basic::kSigned, 4},
      {MPI_INT64_T, Basic::kSigned, 8},
      {MPI_UINT8_T, Basic::kUnsigned, 1},
      {MPI_UINT16_T, Basic::kUnsigned, 2},
      {MPI_UINT32_T, Basic::kUnsigned, 4},
      {MPI_UINT64_T, Basic::kUnsigned, 8},
      {MPI_AINT, Basic::kSigned, 8},
      {MPI_COUNT, Basic::kSigned, 8},
      {MPI_OFFSET, Basic::kSigned, 8},
      {MPI_C_FLOAT_COMPLEX, Basic::kComplexFloat, 8},
      {MPI_C_COMPLEX, Basic::kComplexFloat, 8},
      {MPI_C_DOUBLE_COMPLEX, Basic::kComplexFloat, 16},
      {MPI_C_LONG_DOUBLE_COMPLEX, Basic::kComplexLongDouble, 32},
      {MPI_CXX_BOOL, Basic::kLogical, 1},
      {MPI_CXX_FLOAT_COMPLEX, Basic::kComplexFloat, 8},
      {MPI_CXX_DOUBLE_COMPLEX, Basic::kComplexFloat, 16},
      {MPI_CXX_LONG_DOUBLE_COMPLEX, Basic::kComplexLongDouble, 32},
      {MPI_CHARACTER, Basic::kChar, 1},
      {MPI_LOGICAL, Basic::kLogical, 4},
      {MPI_INTEGER, Basic::kSigned, 4},
      {MPI_REAL, Basic::kFloat, 4},
      {MPI_DOUBLE_PRECISION, Basic::kFloat, 8},
      {MPI_COMPLEX, Basic::kComplexFloat, 8},
      {MPI_DOUBLE_COMPLEX, Basic::kComplexFloat, 16},
      {MPI_INTEGER1, Basic::kSigned, 1},
      {MPI_INTEGER2, Basic::kSigned, 2},
      {MPI_INTEGER4, Basic::kSigned, 4},
      {MPI_INTEGER8, Basic::kSigned, 8},
      {MPI_REAL4, Basic::kFloat, 4},
      {MPI_REAL8, Basic::kFloat, 8},
      {MPI_REAL16, Basic::kFloat, 16},
      {MPI_COMPLEX8, Basic::kComplexFloat, 8},
      {MPI_COMPLEX16, Basic::kComplexFloat, 16},
      {MPI_COMPLEX32, Basic::kComplexFloat, 32},
  });
  return *table;
}

struct PairType {
  MPI_Datatype type, first, second;
};

const std::vector<PairType>& pair_types() {
  static const std::vector<PairType>* const table = new std::vector<PairType>{
      {MPI_FLOAT_INT, MPI_FLOAT, MPI_INT},
      {MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT},
      {MPI_LONG_INT, MPI_LONG, MPI_INT},
      {MPI_SHORT_INT, MPI_SHORT, MPI_INT},
      {MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT},
      {MPI_2INT, MPI_INT, MPI_INT},
      {MPI_2REAL, MPI_REAL, MPI_REAL},
      {MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION},
      {MPI_2INTEGER, MPI_INTEGER, MPI_INTEGER},
#ifdef MERCUTIO_ABI_OPENMPI
      {MPI_2COMPLEX, MPI_COMPLEX, MPI_COMPLEX},
      {MPI_2DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX},
#endif
  };
  return *table;
}

TypeSpecRef pair_spec(const PairType& pair) {
  TypeSpecRef first = named_spec(pair.first), second = named_spec(pair.second);
  i64 first_bytes = first->basic.native_bytes, align = second->basic.native_bytes;
  i64 second_at = (first_bytes + align - 1) / align * align;
  MPI_Aint lb = 0, extent = 0;
  PMPI_Type_get_extent(pair.type, &lb, &extent);
  return make_pair_type(std::move(first), std::move(second), second_at, extent);
}

}  // namespace

TypeSpecRef named_spec(MPI_Datatype type) {
  if (TypeSpecRef known = named_types().spec_of(type)) return known;
  for (const PairType& pair : pair_types())
    if (pair.type == type && type != MPI_DATATYPE_NULL) return pair_spec(pair);
  return nullptr;
}

MPI_Datatype predefined_like(const TypeSpec& named) {
  if (named.combiner != Combiner::kNamed) return MPI_DATATYPE_NULL;
  return named_types().type_of(named);
}

bool is_bounds_marker(MPI_Datatype type) {
#ifdef MERCUTIO_ABI_MPICH
  return type == MPI_LB || type == MPI_UB;
#else
  return type != MPI_DATATYPE_NULL && native_size(type) == 0;
#endif
}

TypeSpecRef sized_spec(Basic kind, MPI_Datatype type) {
  i64 bytes = native_size(type);
  return make_named({kind, bytes, bytes});
}

TypeSpecRef f90_real_spec(MPI_Datatype type, bool complex, i64 digits) {
  const MPI_Datatype widest = complex ? MPI_C_LONG_DOUBLE_COMPLEX : MPI_LONG_DOUBLE;
  if (digits <= LDBL_DIG && native_size(type) == native_size(widest)) return named_spec(widest);
  return sized_spec(complex ? Basic::kComplexFloat : Basic::kFloat, type);
}

}  // namespace mercutio
