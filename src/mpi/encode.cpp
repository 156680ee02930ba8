#include "mpi/encode.h"

#include <algorithm>
#include <limits>
#include <map>

#include "mpi/decode.h"
#include "base/page_allocator.h"
#include "mpi/real.h"

namespace mercutio {
namespace {

bool fits_int(i64 value) { return value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max(); }

bool fits_int(const NumberList& values) {
  for (i64 i = 0; i < values.size(); ++i)
    if (!fits_int(values[i])) return false;
  return true;
}

bool displaced_in_bytes(Combiner combiner) {
  return combiner == Combiner::kHindexed || combiner == Combiner::kHindexedBlock || combiner == Combiner::kStruct;
}

// Whether the constructors of MPI-1 can make the type; otherwise a large-count constructor made it.
bool is_small(const TypeSpec& t) {
  return fits_int(t.count) && fits_int(t.block_length) && (t.combiner != Combiner::kVector || fits_int(t.stride)) &&
         fits_int(t.lengths) && fits_int(t.sizes) && (displaced_in_bytes(t.combiner) || fits_int(t.displacements));
}

template <class T>
LargeVector<T> as(const NumberList& values) {
  LargeVector<T> list(static_cast<std::size_t>(values.size()));
  for (i64 i = 0; T& value : list) value = static_cast<T>(values[i++]);
  return list;
}

int order_of(const TypeSpec& t) { return t.c_order ? MPI_ORDER_C : MPI_ORDER_FORTRAN; }

int distribution_of(Distribution distribution) {
  if (distribution == Distribution::kBlock) return MPI_DISTRIBUTE_BLOCK;
  return distribution == Distribution::kCyclic ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_NONE;
}

struct DarrayArguments {
  LargeVector<int> distributions, arguments, processes;
  explicit DarrayArguments(const TypeSpec& t) : processes(as<int>(t.displacements)) {
    for (Distribution distribution : t.distributions) distributions.push_back(distribution_of(distribution));
    arguments = as<int>(t.lengths);
    for (int& argument : arguments)
      if (argument == kDefaultDistributionArg) argument = MPI_DISTRIBUTE_DFLT_DARG;
  }
};

using Type = MPI_Datatype;

// The constructors of MPI, with int and MPI_Aint, or the large ones with MPI_Count.
template <class Count, class Bytes>
struct Constructors {
  int (*contiguous)(Count, Type, Type*);
  int (*vector)(Count, Count, Count, Type, Type*);
  int (*hvector)(Count, Count, Bytes, Type, Type*);
  int (*indexed)(Count, const Count*, const Count*, Type, Type*);
  int (*hindexed)(Count, const Count*, const Bytes*, Type, Type*);
  int (*indexed_block)(Count, Count, const Count*, Type, Type*);
  int (*hindexed_block)(Count, Count, const Bytes*, Type, Type*);
  int (*structure)(Count, const Count*, const Bytes*, const Type*, Type*);
  int (*subarray)(int, const Count*, const Count*, const Count*, int, Type, Type*);
  int (*darray)(int, int, int, const Count*, const int*, const int*, const int*, int, Type, Type*);
  int (*resized)(Type, Bytes, Bytes, Type*);
};

constexpr Constructors<int, MPI_Aint> kSmall = {
    PMPI_Type_contiguous,         PMPI_Type_vector,         PMPI_Type_create_hvector,       PMPI_Type_indexed,
    PMPI_Type_create_hindexed,    PMPI_Type_create_indexed_block, PMPI_Type_create_hindexed_block, PMPI_Type_create_struct,
    PMPI_Type_create_subarray,    PMPI_Type_create_darray,  PMPI_Type_create_resized};

template <class Function>
void look_up(Function*& function, const char* name) { function = real_function<Function>(name); }

Constructors<MPI_Count, MPI_Count> large_constructors() {
  Constructors<MPI_Count, MPI_Count> large;
  look_up(large.contiguous, "PMPI_Type_contiguous_c");
  look_up(large.vector, "PMPI_Type_vector_c");
  look_up(large.hvector, "PMPI_Type_create_hvector_c");
  look_up(large.indexed, "PMPI_Type_indexed_c");
  look_up(large.hindexed, "PMPI_Type_create_hindexed_c");
  look_up(large.indexed_block, "PMPI_Type_create_indexed_block_c");
  look_up(large.hindexed_block, "PMPI_Type_create_hindexed_block_c");
  look_up(large.structure, "PMPI_Type_create_struct_c");
  look_up(large.subarray, "PMPI_Type_create_subarray_c");
  look_up(large.darray, "PMPI_Type_create_darray_c");
  look_up(large.resized, "PMPI_Type_create_resized_c");
  return large;
}

template <class Count, class Bytes>
int make(const Constructors<Count, Bytes>& mpi, const TypeSpec& t, const std::vector<Type>& children, Type* made) {
  const auto entries = static_cast<Count>(t.displacements.size()), count = static_cast<Count>(t.count);
  const auto block_length = static_cast<Count>(t.block_length);
  const bool in_bytes = displaced_in_bytes(t.combiner);
  const LargeVector<Count> lengths = as<Count>(t.lengths), sizes = as<Count>(t.sizes);
  const LargeVector<Count> elements = in_bytes ? LargeVector<Count>() : as<Count>(t.displacements);
  const LargeVector<Bytes> bytes = in_bytes ? as<Bytes>(t.displacements) : LargeVector<Bytes>();
  const int dimensions = static_cast<int>(t.sizes.size());
  switch (t.combiner) {
    case Combiner::kNamed:
    case Combiner::kPair: break;   // encode() returns the predefined type
    case Combiner::kDup: return PMPI_Type_dup(children[0], made);
    case Combiner::kContiguous: return mpi.contiguous(count, children[0], made);
    case Combiner::kVector: return mpi.vector(count, block_length, static_cast<Count>(t.stride), children[0], made);
    case Combiner::kHvector: return mpi.hvector(count, block_length, static_cast<Bytes>(t.stride), children[0], made);
    case Combiner::kIndexed: return mpi.indexed(entries, lengths.data(), elements.data(), children[0], made);
    case Combiner::kHindexed: return mpi.hindexed(entries, lengths.data(), bytes.data(), children[0], made);
    case Combiner::kIndexedBlock: return mpi.indexed_block(entries, block_length, elements.data(), children[0], made);
    case Combiner::kHindexedBlock: return mpi.hindexed_block(entries, block_length, bytes.data(), children[0], made);
    case Combiner::kStruct: return mpi.structure(entries, lengths.data(), bytes.data(), children.data(), made);
    case Combiner::kSubarray:
      return mpi.subarray(dimensions, sizes.data(), lengths.data(), elements.data(), order_of(t), children[0], made);
    case Combiner::kDarray: {
      const DarrayArguments a(t);
      return mpi.darray(static_cast<int>(t.count), static_cast<int>(t.block_length), dimensions, sizes.data(), a.distributions.data(),
                        a.arguments.data(), a.processes.data(), order_of(t), children[0], made);
    }
    case Combiner::kResized: return mpi.resized(children[0], t.stride, t.extent, made);
  }
  return MPI_ERR_TYPE;
}

int make(const TypeSpec& t, const std::vector<Type>& children, Type* made) {
  if (is_small(t)) return make(kSmall, t, children, made);
  static const Constructors<MPI_Count, MPI_Count> large = large_constructors();
  return large.contiguous ? make(large, t, children, made) : MPI_ERR_TYPE;
}

// The parts of a type that have been made: each once, however often it occurs.
using Parts = std::map<const TypeSpec*, Type>;

Result<Type> make_type(const TypeSpec& spec, Parts& parts) {
  if (const Type known = predefined_of(spec); known != MPI_DATATYPE_NULL) return known;
  // One that only another MPI has.
  if (spec.combiner == Combiner::kNamed) return make_type(*make_contiguous(spec.basic.native_bytes, byte_type()), parts);
  std::vector<Type> children;
  for (const TypeSpecRef& child : spec.children) {
    auto known = parts.find(child.get());
    if (known == parts.end()) {
      MERCUTIO_LET(const Type made, make_type(*child, parts));
      known = parts.emplace(child.get(), made).first;
    }
    children.push_back(known->second);
  }
  Type type = MPI_DATATYPE_NULL;
  if (make(spec, children, &type) == MPI_SUCCESS && PMPI_Type_commit(&type) == MPI_SUCCESS) return type;
  return Error{ErrorClass::kType, "the MPI refused to make the datatype " + to_string(spec) + " again"};
}

}  // namespace

Result<MPI_Datatype> encode(const TypeSpec& spec) {
  Parts parts;
  Result<Type> type = make_type(spec, parts);
  for (auto& [part, made] : parts)
    if (!is_named(made)) PMPI_Type_free(&made);
  return type;
}

}  // namespace mercutio
