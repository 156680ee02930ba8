#include "base/core_time.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace mercutio {

CoreTime CoreTime::since(const CoreTime& earlier) const {
  const auto less = [](i64 now, i64 then) { return std::max<i64>(0, now - then); };
  return CoreTime{less(ran_ns, earlier.ran_ns), less(queued_ns, earlier.queued_ns), less(turns, earlier.turns)};
}

CoreTime core_time_in(const std::string& schedstat) {
  CoreTime time;
  const int found = std::sscanf(schedstat.c_str(), "%" SCNd64 " %" SCNd64 " %" SCNd64, &time.ran_ns, &time.queued_ns, &time.turns);
  return found == 3 ? time : CoreTime{};
}

CoreTime core_time_of_this_thread() {
  char text[128] = "";
  const int file = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t got = ::read(file, text, sizeof text - 1);
  ::close(file);
  return got > 0 ? core_time_in(std::string(text, static_cast<std::size_t>(got))) : CoreTime{};
}

}  // namespace mercutio
