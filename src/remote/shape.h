// The pieces of one transfer as the remote protocol says them: a displacement and a type tree, so that a regular list costs
// a few bytes whatever its length, and the same list at another offset is the same tree. O(pieces).
#pragma once

#include <span>
#include <vector>

#include "model/flat_type.h"
#include "remote/wire.h"
#include "storage/storage.h"

namespace mercutio::remote {

class Shape {
 public:
  static Result<Shape> of(std::vector<IoPiece> pieces);   // kArg: outside of what a file can hold

  i64 bytes() const { return starts_.back(); }
  i64 displacement() const { return displacement_; }
  u64 tree() const { return tree_; }                      // 0: one run
  const Buffer& definition() const { return definition_; }
  bool ascending() const { return ascending_; }           // no piece begins before the end of the one before it
  i64 first() const { return first_; }                    // the file range it lies in
  i64 last() const { return last_; }

  void gather(i64 begin, std::span<std::byte> out) const;         // memory -> out, from stream byte `begin` on
  void scatter(i64 begin, std::span<const std::byte> in) const;   // in -> memory

 private:
  template <class Copy>
  void each_part(i64 begin, i64 bytes, Copy copy) const;

  std::vector<IoPiece> pieces_;
  std::vector<i64> starts_;   // of each piece in the stream, and its end
  i64 displacement_ = 0, first_ = 0, last_ = 0;
  bool ascending_ = true;
  u64 tree_ = 0;
  Buffer definition_;
};

}  // namespace mercutio::remote
