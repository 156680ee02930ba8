#include "base/file_limit.h"

#include <sys/resource.h>

namespace mercutio {

bool file_size_allowed(i64 bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= static_cast<rlim_t>(bytes);
}

}  // namespace mercutio
