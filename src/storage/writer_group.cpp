#include "storage/writer_group.h"

#include "base/random.h"

namespace mercutio {

i64 draw_first_mark(i64 ranks) {
  const std::uint64_t places = static_cast<std::uint64_t>(kEndOfMarks - kFirstMark - ranks - 2);
  return kFirstMark + 1 + static_cast<i64>(random_number() % places);
}

}  // namespace mercutio
