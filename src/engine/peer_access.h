// PeerAccess: a rank's part of a collective access. Inside engine/ only.
#pragma once

#include <utility>

#include "model/view.h"

namespace mercutio {

// In terms of the rank's view: the stream range [begin, end), which lies in the file range [first, last).
struct PeerAccess {
  FlatTypeRef filetype;   // null: takes part without data, or is another rank's
  i64 displacement = 0;
  i64 begin = 0, end = 0;
  i64 first = 0, last = 0;

  i64 stream_position(i64 offset) const { return offset <= displacement ? 0 : filetype->bytes_below(offset - displacement); }
  // The part of the stream range that lies in the file range [from, to); empty: {0, 0}.
  std::pair<i64, i64> part_in(i64 from, i64 to) const;
  // The cursor over stream bytes [from, to) of a file range starting at `window` that lies at `data`: yields addresses.
  Cursor cursor_in(std::byte* data, i64 window, i64 from, i64 to) const {
    return Cursor(filetype, displacement + reinterpret_cast<i64>(data) - window, from, to);
  }
};

}  // namespace mercutio
