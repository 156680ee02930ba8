// Coverage: which bytes of a window have been supplied, one bit per byte. Ranges may be added in any order and may overlap, so
// counting bytes would not find holes. Uses bytes/8 bytes of memory.
#pragma once

#include <vector>

#include "base/types.h"

namespace mercutio {

class Coverage {
 public:
  void reset(i64 bytes) {
    bytes_ = bytes;
    words_.assign(static_cast<size_t>((bytes + 63) / 64), 0);
  }
  void add(i64 begin, i64 end);
  i64 next_covered(i64 from) const { return next(from, 0); }            // size() if none
  i64 next_hole(i64 from) const { return next(from, ~std::uint64_t{0}); }
  i64 size() const { return bytes_; }

 private:
  i64 next(i64 from, std::uint64_t skipped) const;
  i64 bytes_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace mercutio
