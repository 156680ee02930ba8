// A file view: displacement + etype + filetype + data representation. Immutable, shared. Offsets of the access calls count
// etypes; the engine counts bytes of the view's data stream ("stream position").
#pragma once

#include <memory>
#include <string>

#include "model/flat_type.h"

namespace mercutio {

struct View {
  i64 displacement = 0;
  FlatTypeRef etype;       // lowered with the sizes of the data representation
  FlatTypeRef filetype;
  TypeSpecRef etype_spec, filetype_spec;
  std::string datarep = "native";

  bool contiguous() const { return filetype->contiguous(); }
  // The file offset of stream byte `position`; the number of stream bytes before file offset `offset`. O(depth log n).
  i64 file_offset(i64 position) const { return displacement + filetype->offset_of(position); }
  i64 stream_position(i64 offset) const { return offset <= displacement ? 0 : filetype->bytes_below(offset - displacement); }
  Cursor cursor(i64 begin, i64 end) const { return Cursor(filetype, displacement, begin, end); }
  // The same, yielding memory addresses, where `data` holds the file from offset `first` on.
  Cursor cursor_in(std::byte* data, i64 first, i64 begin, i64 end) const {
    return Cursor(filetype, displacement + reinterpret_cast<i64>(data) - first, begin, end);
  }
  // Whether the stream is sorted by offset, so that stream_position() is the inverse of file_offset().
  bool sorted() const { return filetype->monotone() && !filetype->overlapping(); }
  // The file range that holds stream bytes [begin, end), begin < end. The smallest one, unless pieces of one copy of the filetype overlap.
  FileRange range_of(i64 begin, i64 end) const;
};
using ViewRef = std::shared_ptr<const View>;

ViewRef default_view();   // displacement 0, bytes, native

// MPI 14.3: etype and filetype non-negative and monotone; filetype built of whole etypes; extents non-overlapping when
// `writable`. The Error says which rule and where.
Status check_view(const View& view, bool writable);

}  // namespace mercutio
