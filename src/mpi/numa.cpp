// Linux lists the processors of a domain in /sys/devices/system/node/node<d>/cpulist, as "0-3,8-11".
#include "mpi/numa.h"

#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace mercutio {
namespace {

constexpr i64 kMostDomains = 1024;

std::string cpu_list_path(i64 domain) { return "/sys/devices/system/node/node" + std::to_string(domain) + "/cpulist"; }

// How many of the processors in `list` are in `allowed`.
int count_allowed(std::istream& list, const cpu_set_t& allowed) {
  int count = 0;
  for (std::string part; std::getline(list, part, ',');) {
    int first = 0, last = 0;
    const int fields = std::sscanf(part.c_str(), "%d-%d", &first, &last);
    if (fields < 1) continue;
    for (int cpu = first; cpu <= (fields == 2 ? last : first) && cpu < CPU_SETSIZE; ++cpu) count += CPU_ISSET(cpu, &allowed) ? 1 : 0;
  }
  return count;
}

}  // namespace

i64 numa_domain() {
  if (access(cpu_list_path(1).c_str(), R_OK) != 0) return 0;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  for (i64 domain = 0; domain < kMostDomains; ++domain) {
    std::ifstream list(cpu_list_path(domain));
    if (!list) continue;   // numbers may be left out
    const int mine = count_allowed(list, allowed);
    if (mine > 0) return mine == CPU_COUNT(&allowed) ? domain : -1;
  }
  return -1;
}

}  // namespace mercutio
