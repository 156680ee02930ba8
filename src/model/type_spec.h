// TypeSpec: a datatype as its constructor tree, without MPI handles. Symbolic: displacements that the standard counts in
// elements stay in elements, so one spec can be lowered with native sizes (memory, native files) or with those of another
// data representation (external32 files, MPI 14.5.3).
//
// Immutable and shared. src/mpi decodes MPI_Datatype into it once per type (cached on the type by attribute).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "model/number_list.h"

namespace mercutio {

// Every predefined datatype that can be in a file, classified by what moving and converting it requires.
enum class Basic : unsigned char {
  kByte,        // MPI_BYTE, MPI_PACKED: never converted; with more native_bytes: a type of unknown kind, which can't be
  kChar,        // char, signed/unsigned char, CHARACTER, 1-byte ints and logicals: 1 byte everywhere
  kSigned,      // native_bytes 1,2,4,8,16 -> external_bytes
  kUnsigned,
  kFloat,       // IEEE 2,4,8 or 16
  kLongDouble,  // x87 80-bit in 16 bytes (external32: IEEE binary128)
  kComplexFloat,   // two kFloat of half the size
  kComplexLongDouble,
  kLogical,     // Fortran LOGICAL, C bool
  kWideChar,
};

struct BasicType {
  Basic kind = Basic::kByte;
  i64 native_bytes = 1;
  i64 external_bytes = 1;   // size in external32
  bool operator==(const BasicType&) const = default;
};

enum class Combiner : unsigned char {
  kNamed,          // basic
  kContiguous,     // count
  kVector,         // count, block_length, stride in elements
  kHvector,        // count, block_length, stride in bytes
  kIndexed,        // lengths[], displacements[] in elements
  kHindexed,       // lengths[], displacements[] in bytes
  kIndexedBlock,   // block_length, displacements[] in elements
  kHindexedBlock,  // block_length, displacements[] in bytes
  kStruct,         // lengths[], displacements[] in bytes, children[]
  kSubarray,       // sizes[], subsizes[], starts[], c_order
  kDarray,         // world size, rank, gsizes, distribs, dargs, psizes, c_order
  kResized,        // lb, extent in bytes
  kDup,            // child only
  kPair,           // MPI_DOUBLE_INT and its kin: two children, the place of the second, the extent. No gaps but in native sizes
};

enum class Distribution : unsigned char { kBlock, kCyclic, kNone };
inline constexpr i64 kDefaultDistributionArg = -1;

// The maximum depth of nested constructors; deeper types are rejected, and so are those with more than kMaxFlatDepth irregular ones within
// each other (model/flat_node.h). So recursion over a tree fits in the stack of a thread.
inline constexpr i64 kMaxTypeDepth = 1024;

struct TypeSpec;
using TypeSpecRef = std::shared_ptr<const TypeSpec>;

// The lowered form of a spec with native sizes (FlatType::of), cached from the first use on: a program that sets a view with the
// same type for each output has its map lowered once. Not part of the value: a copy starts without it.
class FlatType;
class LoweredOnce {
 public:
  LoweredOnce() = default;
  LoweredOnce(const LoweredOnce&) {}
  LoweredOnce& operator=(const LoweredOnce&) = delete;
  ~LoweredOnce() { delete kept_.load(std::memory_order_relaxed); }
  std::shared_ptr<const FlatType> get() const {
    const auto* kept = peek();
    return kept ? *kept : nullptr;
  }
  // The cached form, valid for the lifetime of the spec; null: none yet.
  const std::shared_ptr<const FlatType>* peek() const { return kept_.load(std::memory_order_acquire); }
  // Keeps the first value that is set.
  void set(std::shared_ptr<const FlatType> flat) const {
    auto mine = std::make_unique<const Kept>(std::move(flat));
    const Kept* none = nullptr;
    if (kept_.compare_exchange_strong(none, mine.get(), std::memory_order_release, std::memory_order_relaxed)) (void)mine.release();
  }

 private:
  using Kept = std::shared_ptr<const FlatType>;
  mutable std::atomic<const Kept*> kept_{nullptr};   // std::atomic<std::shared_ptr> of GCC 12 is a data race
};

struct TypeSpec {
  Combiner combiner = Combiner::kNamed;
  BasicType basic;                     // kNamed
  i64 count = 0;                       // contiguous, vector, hvector; darray: world size
  i64 block_length = 0;                // vector, hvector, *_block; darray: rank
  i64 stride = 0;                      // vector (elements), hvector (bytes); resized: lb; pair: place of the second
  i64 extent = 0;                      // resized, pair
  NumberList lengths;                  // indexed, hindexed, struct; subarray: subsizes; darray: dargs
  NumberList displacements;            // indexed...struct; subarray: starts; darray: psizes
  NumberList sizes;                    // subarray: sizes; darray: gsizes
  std::vector<Distribution> distributions;   // darray
  bool c_order = true;                 // subarray, darray
  std::vector<TypeSpecRef> children;   // one; kStruct: one per entry; kPair: two; kNamed: none
  LoweredOnce lowered;
};

TypeSpecRef make_named(BasicType basic);
TypeSpecRef make_contiguous(i64 count, TypeSpecRef child);
TypeSpecRef make_vector(i64 count, i64 block_length, i64 stride, TypeSpecRef child);
TypeSpecRef make_hvector(i64 count, i64 block_length, i64 stride_bytes, TypeSpecRef child);
TypeSpecRef make_indexed(NumberList lengths, NumberList displacements, TypeSpecRef child);
TypeSpecRef make_hindexed(NumberList lengths, NumberList displacements_bytes, TypeSpecRef child);
TypeSpecRef make_indexed_block(i64 block_length, NumberList displacements, TypeSpecRef child);
TypeSpecRef make_hindexed_block(i64 block_length, NumberList displacements_bytes, TypeSpecRef child);
TypeSpecRef make_struct(NumberList lengths, NumberList displacements_bytes, std::vector<TypeSpecRef> children);
TypeSpecRef make_subarray(NumberList sizes, NumberList subsizes, NumberList starts, bool c_order, TypeSpecRef child);
TypeSpecRef make_darray(i64 world_size, i64 rank, NumberList gsizes, std::vector<Distribution> distributions,
                        NumberList dargs, NumberList psizes, bool c_order, TypeSpecRef child);
TypeSpecRef make_resized(i64 lb, i64 extent, TypeSpecRef child);
TypeSpecRef make_dup(TypeSpecRef child);
TypeSpecRef make_pair_type(TypeSpecRef first, TypeSpecRef second, i64 second_at, i64 extent);
TypeSpecRef byte_type();                             // one MPI_BYTE
std::string to_string(const TypeSpec& spec);         // "vector(4,1,8,int32)"

}  // namespace mercutio
