// The format of the pieces of one transfer: a displacement and a type tree. A regular list needs a few bytes, whatever its length,
// and the same list at another offset has the same tree. O(pieces).
#pragma once

#include <span>
#include <vector>

#include "model/flat_type.h"
#include "remote/wire.h"
#include "storage/storage.h"

namespace mercutio::remote {

class Shape {
 public:
  static Result<Shape> of(std::vector<IoPiece> pieces);   // kArg: outside the range of file offsets

  i64 bytes() const { return starts_.back(); }
  i64 displacement() const { return displacement_; }
  u64 tree() const { return tree_; }                      // 0: one contiguous run
  const Buffer& definition() const { return definition_; }
  bool ascending() const { return ascending_; }           // no piece begins before the end of the previous one
  i64 first() const { return first_; }                    // file range of all pieces
  i64 last() const { return last_; }

  std::span<std::byte> contiguous(i64 begin, i64 bytes) const;    // the memory of stream bytes; empty: it is not contiguous
  void gather(i64 begin, std::span<std::byte> out) const;         // memory -> out, from stream byte `begin` on
  void scatter(i64 begin, std::span<const std::byte> in) const;   // in -> memory

 private:
  template <class Copy>
  void each_part(i64 begin, i64 bytes, Copy copy) const;

  std::vector<IoPiece> pieces_;
  std::vector<i64> starts_;   // begin of each piece in the stream, and the end of the last one
  i64 displacement_ = 0, first_ = 0, last_ = 0;
  bool ascending_ = true;
  u64 tree_ = 0;
  Buffer definition_;
};

}  // namespace mercutio::remote
