#include "storage/writer_group.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"

namespace mercutio {

i64 draw_first_mark(i64 ranks) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    number = mix_hash(mix_hash(static_cast<std::uint64_t>(now.tv_nsec), static_cast<std::uint64_t>(now.tv_sec)),
                      static_cast<std::uint64_t>(::getpid()));
  }
  const std::uint64_t places = static_cast<std::uint64_t>(kEndOfMarks - kFirstMark - ranks - 2);
  return kFirstMark + 1 + static_cast<i64>(number % places);
}

}  // namespace mercutio
