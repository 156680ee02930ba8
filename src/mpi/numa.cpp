// Linux lists the processors of a domain in /sys/devices/system/node/node<d>/cpulist, as "0-3,8-11".
#include "mpi/numa.h"

#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "base/file_text.h"
#include "base/split.h"

namespace mercutio {
namespace {

constexpr i64 kMostDomains = 1024;

std::string cpu_list_path(i64 domain) { return "/sys/devices/system/node/node" + std::to_string(domain) + "/cpulist"; }

// The processors of a domain; empty if there is no such domain.
cpu_set_t processors_of(i64 domain) {
  cpu_set_t all;
  CPU_ZERO(&all);
  const auto list = text_of_file(cpu_list_path(domain));
  if (!list) return all;
  for (const std::string_view part : split(*list, ',')) {
    int first = 0, last = 0;
    const int fields = std::sscanf(std::string(part).c_str(), "%d-%d", &first, &last);
    if (fields < 1) continue;
    for (int cpu = first; cpu <= (fields == 2 ? last : first) && cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &all);
  }
  return all;
}

// The domain that contains all processors of the calling thread, and its processors in `all`. -1: several domains, or unknown.
i64 domain_of_thread(cpu_set_t& all) {
  cpu_set_t allowed, shared;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  for (i64 domain = 0; domain < kMostDomains; ++domain) {   // numbers need not be contiguous
    all = processors_of(domain);
    CPU_AND(&shared, &all, &allowed);
    if (CPU_COUNT(&shared) > 0) return CPU_EQUAL(&shared, &allowed) ? domain : -1;
  }
  return -1;
}

}  // namespace

i64 numa_domain() {
  if (access(cpu_list_path(1).c_str(), R_OK) != 0) return 0;
  cpu_set_t all;
  return domain_of_thread(all);
}

void spread_over_domain() {
  cpu_set_t all;
  if (domain_of_thread(all) >= 0) sched_setaffinity(0, sizeof all, &all);
}

}  // namespace mercutio
