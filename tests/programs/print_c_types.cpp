#include "print_c_types.h"

namespace mercutio::programs {
namespace {

std::string number(i64 value) { return std::to_string(value); }

std::string list(const char* type, const std::vector<i64>& values) {
  std::string text = std::string("(") + type + "[]){";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + number(values[i]);
  return text + "}";
}

std::string blocks(const Type& type, const std::string& inner, const std::string& made) {
  const std::string n = number(static_cast<i64>(type.places.size()));
  switch (type.kind) {
    case Kind::kIndexed:
      return "MPI_Type_indexed(" + n + ", " + list("int", type.lengths) + ", " + list("int", type.places) + ", " + inner + made;
    case Kind::kHindexed:
      return "MPI_Type_create_hindexed(" + n + ", " + list("int", type.lengths) + ", " + list("MPI_Aint", type.places) + ", " + inner + made;
    case Kind::kIndexedBlock:
      return "MPI_Type_create_indexed_block(" + n + ", " + number(type.block) + ", " + list("int", type.places) + ", " + inner + made;
    case Kind::kHindexedBlock:
      return "MPI_Type_create_hindexed_block(" + n + ", " + number(type.block) + ", " + list("MPI_Aint", type.places) + ", " + inner + made;
    default:
      break;
  }
  std::string members;
  for (size_t i = 0; i < type.inner.size(); ++i) members += (i ? ", t[" : "t[") + number(type.inner[i]) + "]";
  return "MPI_Type_create_struct(" + n + ", " + list("int", type.lengths) + ", " + list("MPI_Aint", type.places) + ", (MPI_Datatype[]){" +
         members + "}" + made;
}

std::string arrays(const Type& type, const std::string& inner, const std::string& made) {
  const std::string n = number(static_cast<i64>(type.sizes.size())), order = type.fortran_order ? "MPI_ORDER_FORTRAN, " : "MPI_ORDER_C, ";
  if (type.kind == Kind::kSubarray) {
    return "MPI_Type_create_subarray(" + n + ", " + list("int", type.sizes) + ", " + list("int", type.subsizes) + ", " +
           list("int", type.starts) + ", " + order + inner + made;
  }
  std::string distributions, arguments;
  i64 processes = 1;
  for (size_t i = 0; i < type.sizes.size(); ++i) {
    distributions += type.distributions[i] == Distribution::kBlock    ? "MPI_DISTRIBUTE_BLOCK, "
                     : type.distributions[i] == Distribution::kCyclic ? "MPI_DISTRIBUTE_CYCLIC, "
                                                                      : "MPI_DISTRIBUTE_NONE, ";
    arguments += (type.subsizes[i] > 0 ? number(type.subsizes[i]) : "MPI_DISTRIBUTE_DFLT_DARG") + ", ";
    processes *= type.starts[i];
  }
  return "MPI_Type_create_darray(" + number(processes) + ", " + number(type.rank) + ", " + n + ", " + list("int", type.sizes) + ", (int[]){" +
         distributions + "}, (int[]){" + arguments + "}, " + list("int", type.starts) + ", " + order + inner + made;
}

}  // namespace

std::string type_call(const Program& program, int index) {
  static const char* const kBasics[] = {"MPI_BYTE", "MPI_CHAR", "MPI_SHORT", "MPI_INT", "MPI_FLOAT", "MPI_DOUBLE", "MPI_LONG_LONG"};
  const Type& type = program.types[static_cast<size_t>(index)];
  const std::string name = "t[" + number(index) + "]";
  if (type.kind == Kind::kBasic) return name + " = " + kBasics[static_cast<size_t>(type.basic)] + ";";
  const std::string inner = "t[" + number(type.inner[0]) + "]", made = ", &" + name + "); MPI_Type_commit(&" + name + ");";
  switch (type.kind) {
    case Kind::kContiguous:
      return "MPI_Type_contiguous(" + number(type.count) + ", " + inner + made;
    case Kind::kVector:
      return "MPI_Type_vector(" + number(type.count) + ", " + number(type.block) + ", " + number(type.stride) + ", " + inner + made;
    case Kind::kHvector:
      return "MPI_Type_create_hvector(" + number(type.count) + ", " + number(type.block) + ", " + number(type.stride) + ", " + inner + made;
    case Kind::kResized:
      return "MPI_Type_create_resized(" + inner + ", " + number(type.lb) + ", " + number(type.extent) + made;
    case Kind::kDup:
      return "MPI_Type_dup(" + inner + made;
    case Kind::kSubarray:
    case Kind::kDarray:
      return arrays(type, inner, made);
    default:
      return blocks(type, inner, made);
  }
}

std::string mode_call(unsigned mode) {
  std::string text = (mode & kRead) && (mode & kWrite) ? "MPI_MODE_RDWR" : mode & kWrite ? "MPI_MODE_WRONLY" : "MPI_MODE_RDONLY";
  if (mode & kCreate) text += " | MPI_MODE_CREATE";
  if (mode & kExclusive) text += " | MPI_MODE_EXCL";
  if (mode & kDeleteOnClose) text += " | MPI_MODE_DELETE_ON_CLOSE";
  if (mode & kUniqueOpen) text += " | MPI_MODE_UNIQUE_OPEN";
  if (mode & kAppend) text += " | MPI_MODE_APPEND";
  if (mode & kSequential) text += " | MPI_MODE_SEQUENTIAL";
  return text;
}

}  // namespace mercutio::programs
