// The machine that ranks are placed on: nodes, how many ranks each takes, and what is inside them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace mercutio::place {

struct Node {
  std::string name;
  i64 ranks = 0;   // it takes; 0: not said
};

// Host files of Open MPI ("node1 slots=4") and of MPICH and Intel MPI ("node1:4"), or names alone. A name that comes again adds to it.
Result<std::vector<Node>> parse_hosts(const std::string& text);

// For each NUMA domain its cores, by hwloc's logical numbers, from what `lstopo --of xml` prints. All in one where the machine has
// no NUMA domains.
Result<std::vector<std::vector<i64>>> parse_topology(const std::string& xml);

// What goes where in the end.
struct Seat {
  std::string host;
  i64 core = 0;
};
std::string open_mpi_rankfile(const std::vector<Seat>& seats);
std::string machine_file(const std::vector<Seat>& seats);   // hydra: MPICH, Intel MPI
bool returns_to_a_host(const std::vector<Seat>& seats);     // that file names a host again after another
std::string slurm_host_file(const std::vector<Seat>& seats);

}  // namespace mercutio::place
