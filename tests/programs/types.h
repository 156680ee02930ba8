// Datatypes of the random programs: constructors with their arguments, each made of types with smaller indices, and what
// the standard says of their typemaps (MPI-4.1, chapter 5), spelled out as lists of bytes. Types are small.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mercutio::programs {

using i64 = std::int64_t;

enum class Kind {
  kBasic,
  kContiguous,
  kVector,
  kHvector,
  kIndexed,
  kHindexed,
  kIndexedBlock,
  kHindexedBlock,
  kStruct,
  kResized,
  kSubarray,
  kDarray,
  kDup
};
enum class Basic { kByte, kChar, kShort, kInt, kFloat, kDouble, kLongLong };
enum class Distribution { kNone, kBlock, kCyclic };

// Which fields count depends on the kind: they are the arguments of its constructor.
struct Type {
  Kind kind = Kind::kBasic;
  Basic basic = Basic::kByte;
  std::vector<int> inner;           // indices; several in a struct only
  i64 count = 0, block = 0, stride = 0;
  std::vector<i64> lengths, places;  // blocks
  i64 lb = 0, extent = 0;
  std::vector<i64> sizes, subsizes, starts;  // subarray; darray: sizes, arguments of the distributions, processes
  std::vector<Distribution> distributions;
  i64 rank = 0;
  bool fortran_order = false;
};

struct Segment {
  i64 at = 0, bytes = 0;
};

// A typemap in bytes, in its own order; neighbours are joined.
struct Map {
  std::vector<Segment> segments;
  i64 size = 0, lb = 0, extent = 0;
  i64 true_lb = 0, true_ub = 0;
  i64 basic_bytes = 1;

  [[nodiscard]] bool contiguous() const {
    return segments.size() == 1 && segments[0].at == 0 && lb == 0 && size == extent;
  }
};

[[nodiscard]] i64 bytes_of(Basic basic);
[[nodiscard]] Map map_of(const Type& type, const std::vector<Map>& inner);

// A stretch of `count` copies of a type, between byte `from` of its data and `from` + `bytes`: visit(at, stream, bytes) for each
// segment, where `stream` counts from 0.
template <class Visit>
void for_each_segment(const Map& map, i64 from, i64 bytes, Visit visit) {
  if (bytes <= 0 || map.size == 0) return;
  if (map.contiguous()) return visit(from, i64{0}, bytes);
  i64 copy = from / map.size, skip = from % map.size, stream = 0;
  for (; stream < bytes; ++copy) {
    for (const Segment& segment : map.segments) {
      if (skip >= segment.bytes) {
        skip -= segment.bytes;
        continue;
      }
      const i64 length = segment.bytes - skip < bytes - stream ? segment.bytes - skip : bytes - stream;
      visit(copy * map.extent + segment.at + skip, stream, length);
      stream += length;
      skip = 0;
      if (stream == bytes) return;
    }
  }
}

}  // namespace mercutio::programs
