#include "model/single_run.h"

namespace mercutio {

i64 offset_of_run(const View& view, i64 position, i64 bytes) {
  const FlatType& type = *view.filetype;
  i64 end = 0;
  if (position < 0 || __builtin_add_overflow(position, bytes, &end) || end > type.stream_bytes()) return -1;
  if (type.contiguous()) return end <= kMostFileBytes - view.displacement ? view.displacement + position : -1;
  if (!view.sorted()) return -1;
  const i64 first = view.file_offset(position);
  const i64 last = view.file_offset(end - 1) + 1;
  return last - first == bytes && last <= kMostFileBytes ? first : -1;
}

}  // namespace mercutio
