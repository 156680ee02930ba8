// Typemaps by the definitions of the standard; each copy of an inner type is put down by itself.
#include "types.h"

#include <algorithm>
#include <limits>

namespace mercutio::programs {
namespace {

class Builder {
 public:
  void put(const Map& inner, i64 at) {
    for (const Segment& segment : inner.segments) append(at + segment.at, segment.bytes);
    low_ = std::min(low_, at + inner.lb);
    high_ = std::max(high_, at + inner.lb + inner.extent);
    basic_bytes_ = std::max(basic_bytes_, inner.basic_bytes);
  }
  void put_block(const Map& inner, i64 at, i64 count) {
    for (i64 i = 0; i < count; ++i) put(inner, at + i * inner.extent);
  }
  [[nodiscard]] Map finish() const {
    Map map;
    map.segments = segments_;
    map.lb = low_ == kNothing ? 0 : low_;
    map.extent = low_ == kNothing ? 0 : high_ - low_;
    map.basic_bytes = basic_bytes_;
    measure(map);
    return map;
  }
  static void measure(Map& map) {
    map.size = 0;
    map.true_lb = map.segments.empty() ? 0 : map.segments[0].at;
    map.true_ub = map.true_lb;
    for (const Segment& segment : map.segments) {
      map.size += segment.bytes;
      map.true_lb = std::min(map.true_lb, segment.at);
      map.true_ub = std::max(map.true_ub, segment.at + segment.bytes);
    }
  }

 private:
  void append(i64 at, i64 bytes) {
    if (!segments_.empty() && segments_.back().at + segments_.back().bytes == at) {
      segments_.back().bytes += bytes;
    } else {
      segments_.push_back({at, bytes});
    }
  }
  static constexpr i64 kNothing = std::numeric_limits<i64>::max();
  std::vector<Segment> segments_;
  i64 low_ = kNothing, high_ = std::numeric_limits<i64>::min(), basic_bytes_ = 1;
};

// The indices of one dimension that a process owns.
std::vector<i64> owned(const Type& type, size_t dimension, i64 coordinate) {
  const i64 size = type.sizes[dimension], processes = type.starts[dimension];
  std::vector<i64> indices;
  i64 block = size;
  if (type.distributions[dimension] == Distribution::kBlock) block = (size + processes - 1) / processes;
  if (type.distributions[dimension] == Distribution::kCyclic) block = 1;
  if (type.subsizes[dimension] > 0 && type.distributions[dimension] != Distribution::kNone) block = type.subsizes[dimension];
  for (i64 i = 0; i < size; ++i) {
    if (i / block % processes == coordinate) indices.push_back(i);
  }
  return indices;
}

Map array_map(const Type& type, const Map& inner, const std::vector<std::vector<i64>>& indices) {
  const size_t dimensions = type.sizes.size();
  Builder builder;
  i64 whole = 1;
  for (const i64 size : type.sizes) whole *= size;
  i64 elements = 1;
  for (const auto& list : indices) elements *= static_cast<i64>(list.size());
  for (i64 element = 0; element < elements; ++element) {
    i64 rest = element, place = 0, step = 1;
    for (size_t i = 0; i < dimensions; ++i) {
      const size_t d = type.fortran_order ? i : dimensions - 1 - i;  // the fastest first
      const i64 length = static_cast<i64>(indices[d].size());
      place += indices[d][static_cast<size_t>(rest % length)] * step;
      rest /= length;
      step *= type.sizes[d];
    }
    builder.put(inner, place * inner.extent);
  }
  Map map = builder.finish();
  map.lb = 0;
  map.extent = whole * inner.extent;
  map.basic_bytes = inner.basic_bytes;
  return map;
}

Map subarray_map(const Type& type, const Map& inner) {
  std::vector<std::vector<i64>> indices(type.sizes.size());
  for (size_t d = 0; d < indices.size(); ++d) {
    for (i64 i = 0; i < type.subsizes[d]; ++i) indices[d].push_back(type.starts[d] + i);
  }
  return array_map(type, inner, indices);
}

Map darray_map(const Type& type, const Map& inner) {
  std::vector<std::vector<i64>> indices(type.sizes.size());
  i64 rest = type.rank;
  for (size_t d = indices.size(); d-- > 0;) {  // processes are always in C order
    indices[d] = owned(type, d, rest % type.starts[d]);
    rest /= type.starts[d];
  }
  return array_map(type, inner, indices);
}

Map blocks_map(const Type& type, const std::vector<Map>& inner) {
  Builder builder;
  for (size_t i = 0; i < type.places.size(); ++i) {
    const Map& map = inner[type.kind == Kind::kStruct ? i : 0];
    const bool in_elements = type.kind == Kind::kIndexed || type.kind == Kind::kIndexedBlock;
    const i64 length = type.lengths.empty() ? type.block : type.lengths[i];
    builder.put_block(map, type.places[i] * (in_elements ? map.extent : 1), length);
  }
  return builder.finish();
}

}  // namespace

i64 bytes_of(Basic basic) {
  switch (basic) {
    case Basic::kByte:
    case Basic::kChar:
      return 1;
    case Basic::kShort:
      return 2;
    case Basic::kInt:
    case Basic::kFloat:
      return 4;
    case Basic::kDouble:
    case Basic::kLongLong:
      return 8;
  }
  return 1;
}

Map map_of(const Type& type, const std::vector<Map>& inner) {
  Builder builder;
  switch (type.kind) {
    case Kind::kBasic: {
      const i64 bytes = bytes_of(type.basic);
      return Map{{{0, bytes}}, bytes, 0, bytes, 0, bytes, bytes};
    }
    case Kind::kContiguous:
      builder.put_block(inner[0], 0, type.count);
      return builder.finish();
    case Kind::kVector:
    case Kind::kHvector:
      for (i64 i = 0; i < type.count; ++i) {
        builder.put_block(inner[0], i * type.stride * (type.kind == Kind::kVector ? inner[0].extent : 1), type.block);
      }
      return builder.finish();
    case Kind::kIndexed:
    case Kind::kHindexed:
    case Kind::kIndexedBlock:
    case Kind::kHindexedBlock:
    case Kind::kStruct:
      return blocks_map(type, inner);
    case Kind::kResized: {
      Map map = inner[0];
      map.lb = type.lb;
      map.extent = type.extent;
      return map;
    }
    case Kind::kSubarray:
      return subarray_map(type, inner[0]);
    case Kind::kDarray:
      return darray_map(type, inner[0]);
    case Kind::kDup:
      break;
  }
  return inner[0];
}

}  // namespace mercutio::programs
