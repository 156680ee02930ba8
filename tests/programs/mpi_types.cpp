#include "mpi_types.h"

namespace mercutio::programs {
namespace {

MPI_Datatype basic_of(Basic basic) {
  switch (basic) {
    case Basic::kByte:
      return MPI_BYTE;
    case Basic::kChar:
      return MPI_CHAR;
    case Basic::kShort:
      return MPI_SHORT;
    case Basic::kInt:
      return MPI_INT;
    case Basic::kFloat:
      return MPI_FLOAT;
    case Basic::kDouble:
      return MPI_DOUBLE;
    case Basic::kLongLong:
      return MPI_LONG_LONG;
  }
  return MPI_BYTE;
}

std::vector<int> ints(const std::vector<i64>& list) { return {list.begin(), list.end()}; }
std::vector<MPI_Aint> aints(const std::vector<i64>& list) { return {list.begin(), list.end()}; }

}  // namespace

MpiTypes::MpiTypes(const Program& program) : program_(program), made_(program.types.size()) {}

MpiTypes::~MpiTypes() {
  for (size_t i = 0; i < made_.size(); ++i) {
    if (made_[i].type != MPI_DATATYPE_NULL && program_.types[i].kind != Kind::kBasic) MPI_Type_free(&made_[i].type);
  }
}

MPI_Datatype MpiTypes::get(int type) {
  Made& made = made_[static_cast<size_t>(type)];
  if (made.type == MPI_DATATYPE_NULL) {
    const MPI_Datatype fresh = make(program_.types[static_cast<size_t>(type)]);
    made.type = fresh;
  }
  return made.type;
}

MPI_Datatype MpiTypes::get_committed(int type) {
  static_cast<void>(get(type));
  Made& made = made_[static_cast<size_t>(type)];
  if (!made.committed && program_.types[static_cast<size_t>(type)].kind != Kind::kBasic) MPI_Type_commit(&made.type);
  made.committed = true;
  return made.type;
}

MPI_Datatype MpiTypes::make(const Type& type) {
  MPI_Datatype result = MPI_DATATYPE_NULL;
  if (type.kind == Kind::kBasic) return basic_of(type.basic);
  const MPI_Datatype inner = get(type.inner[0]);
  const int count = static_cast<int>(type.count), block = static_cast<int>(type.block);
  switch (type.kind) {
    case Kind::kContiguous:
      MPI_Type_contiguous(count, inner, &result);
      return result;
    case Kind::kVector:
      MPI_Type_vector(count, block, static_cast<int>(type.stride), inner, &result);
      return result;
    case Kind::kHvector:
      MPI_Type_create_hvector(count, block, static_cast<MPI_Aint>(type.stride), inner, &result);
      return result;
    case Kind::kResized:
      MPI_Type_create_resized(inner, static_cast<MPI_Aint>(type.lb), static_cast<MPI_Aint>(type.extent), &result);
      return result;
    case Kind::kDup:
      MPI_Type_dup(inner, &result);
      return result;
    case Kind::kSubarray:
    case Kind::kDarray:
      return make_array(type, inner);
    default:
      return make_blocks(type, inner);
  }
}

MPI_Datatype MpiTypes::make_blocks(const Type& type, MPI_Datatype inner) {
  MPI_Datatype result = MPI_DATATYPE_NULL;
  const int n = static_cast<int>(type.places.size());
  const std::vector<int> lengths = ints(type.lengths), places = ints(type.places);
  const std::vector<MPI_Aint> bytes = aints(type.places);
  switch (type.kind) {
    case Kind::kIndexed:
      MPI_Type_indexed(n, lengths.data(), places.data(), inner, &result);
      return result;
    case Kind::kHindexed:
      MPI_Type_create_hindexed(n, lengths.data(), bytes.data(), inner, &result);
      return result;
    case Kind::kIndexedBlock:
      MPI_Type_create_indexed_block(n, static_cast<int>(type.block), places.data(), inner, &result);
      return result;
    case Kind::kHindexedBlock:
      MPI_Type_create_hindexed_block(n, static_cast<int>(type.block), bytes.data(), inner, &result);
      return result;
    default:
      break;
  }
  std::vector<MPI_Datatype> members;
  for (const int member : type.inner) members.push_back(get(member));
  MPI_Type_create_struct(n, lengths.data(), bytes.data(), members.data(), &result);
  return result;
}

MPI_Datatype MpiTypes::make_array(const Type& type, MPI_Datatype inner) {
  MPI_Datatype result = MPI_DATATYPE_NULL;
  const int n = static_cast<int>(type.sizes.size()), order = type.fortran_order ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
  const std::vector<int> sizes = ints(type.sizes), subsizes = ints(type.subsizes), starts = ints(type.starts);
  if (type.kind == Kind::kSubarray) {
    MPI_Type_create_subarray(n, sizes.data(), subsizes.data(), starts.data(), order, inner, &result);
    return result;
  }
  std::vector<int> distributions, arguments;
  int processes = 1;
  for (size_t i = 0; i < type.sizes.size(); ++i) {
    distributions.push_back(type.distributions[i] == Distribution::kBlock    ? MPI_DISTRIBUTE_BLOCK
                            : type.distributions[i] == Distribution::kCyclic ? MPI_DISTRIBUTE_CYCLIC
                                                                             : MPI_DISTRIBUTE_NONE);
    arguments.push_back(subsizes[i] > 0 ? subsizes[i] : MPI_DISTRIBUTE_DFLT_DARG);
    processes *= starts[i];
  }
  MPI_Type_create_darray(processes, static_cast<int>(type.rank), n, sizes.data(), distributions.data(), arguments.data(),
                         starts.data(), order, inner, &result);
  return result;
}

}  // namespace mercutio::programs
