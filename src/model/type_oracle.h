// For tests: a datatype as the standard defines it, expanded basic element by basic element, and random datatypes.
#pragma once

#include <random>
#include <vector>

#include "model/flat_type.h"

namespace mercutio::oracle {

struct Element {
  i64 offset;
  BasicType basic;
};

struct Typemap {
  std::vector<Element> elements;
  i64 lb = 0, ub = 0;
};

inline i64 bytes_of(const BasicType& basic, Sizes sizes) {
  return sizes == Sizes::kNative ? basic.native_bytes : basic.external_bytes;
}

Typemap expand(const TypeSpec& spec, Sizes sizes);

// The offset of every data byte of `copies` tiled copies, in order.
std::vector<i64> byte_offsets(const Typemap& map, Sizes sizes, i64 copies);

// A random datatype of nesting `depth` at most. `legal`: only what a filetype may be built of (no negative strides).
TypeSpecRef random_type(std::mt19937& rng, int depth, bool legal);

}  // namespace mercutio::oracle
