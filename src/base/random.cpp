#include "base/random.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>

#include "base/hash.h"

namespace mercutio {

// std::random_device has, in a static libstdc++, what the newest C library offers.
std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) == static_cast<ssize_t>(sizeof number)) return number;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  number = mix_hash(static_cast<std::uint64_t>(now.tv_nsec), static_cast<std::uint64_t>(now.tv_sec));
  return mix_hash(number, static_cast<std::uint64_t>(::getpid()));
}

std::string random_file_name() {
  char name[64];
  std::snprintf(name, sizeof name, "/mercutio-%lx-%016llx", static_cast<long>(::getpid()), static_cast<unsigned long long>(random_number()));
  return name;
}

}  // namespace mercutio
