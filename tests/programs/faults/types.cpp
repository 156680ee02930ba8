#include "faults/types.h"

namespace mercutio::programs {
namespace {

TypeSpecRef basic_of(Basic basic) {
  const i64 bytes = bytes_of(basic);
  switch (basic) {
    case Basic::kByte:
      return byte_type();
    case Basic::kChar:
      return make_named({mercutio::Basic::kChar, 1, 1});
    case Basic::kFloat:
    case Basic::kDouble:
      return make_named({mercutio::Basic::kFloat, bytes, bytes});
    default:
      return make_named({mercutio::Basic::kSigned, bytes, bytes});
  }
}

NumberList numbers(const std::vector<i64>& list) { return Numbers(list.begin(), list.end()); }

}  // namespace

TypeSpecRef CoreTypes::get(int type) {
  const auto at = static_cast<size_t>(type);
  if (!made_[at]) {
    TypeSpecRef fresh = make(program_.types[at]);
    made_[at] = std::move(fresh);
  }
  return made_[at];
}

TypeSpecRef CoreTypes::make(const Type& type) {
  if (type.kind == Kind::kBasic) return basic_of(type.basic);
  const TypeSpecRef inner = get(type.inner[0]);
  switch (type.kind) {
    case Kind::kContiguous:
      return make_contiguous(type.count, inner);
    case Kind::kVector:
      return make_vector(type.count, type.block, type.stride, inner);
    case Kind::kHvector:
      return make_hvector(type.count, type.block, type.stride, inner);
    case Kind::kResized:
      return make_resized(type.lb, type.extent, inner);
    case Kind::kDup:
      return make_dup(inner);
    case Kind::kSubarray:
    case Kind::kDarray:
      return make_array(type, inner);
    default:
      return make_blocks(type, inner);
  }
}

TypeSpecRef CoreTypes::make_blocks(const Type& type, const TypeSpecRef& inner) {
  switch (type.kind) {
    case Kind::kIndexed:
      return make_indexed(numbers(type.lengths), numbers(type.places), inner);
    case Kind::kHindexed:
      return make_hindexed(numbers(type.lengths), numbers(type.places), inner);
    case Kind::kIndexedBlock:
      return make_indexed_block(type.block, numbers(type.places), inner);
    case Kind::kHindexedBlock:
      return make_hindexed_block(type.block, numbers(type.places), inner);
    default:
      break;
  }
  std::vector<TypeSpecRef> members;
  for (const int member : type.inner) members.push_back(get(member));
  return make_struct(numbers(type.lengths), numbers(type.places), std::move(members));
}

TypeSpecRef CoreTypes::make_array(const Type& type, const TypeSpecRef& inner) {
  if (type.kind == Kind::kSubarray) {
    return make_subarray(numbers(type.sizes), numbers(type.subsizes), numbers(type.starts), !type.fortran_order, inner);
  }
  std::vector<mercutio::Distribution> distributions;
  std::vector<i64> arguments;
  i64 processes = 1;
  for (size_t i = 0; i < type.sizes.size(); ++i) {
    distributions.push_back(type.distributions[i] == Distribution::kBlock    ? mercutio::Distribution::kBlock
                            : type.distributions[i] == Distribution::kCyclic ? mercutio::Distribution::kCyclic
                                                                             : mercutio::Distribution::kNone);
    arguments.push_back(type.subsizes[i] > 0 ? type.subsizes[i] : kDefaultDistributionArg);
    processes *= type.starts[i];
  }
  return make_darray(processes, type.rank, numbers(type.sizes), std::move(distributions), numbers(arguments), numbers(type.starts),
                     !type.fortran_order, inner);
}

}  // namespace mercutio::programs
