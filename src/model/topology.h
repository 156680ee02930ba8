// Which rank runs on which node and core. Made by Comm, or read from a machine file for tests.
#pragma once

#include <string>
#include <vector>

#include "base/types.h"

namespace mercutio {

struct Topology {
  std::vector<i64> node_of_rank;    // index into node_names
  std::vector<std::string> node_names;
  i64 segment_bytes = 0;   // shared memory per rank, visible to the ranks of its node; 0: no shared memory
  std::vector<i64> numa_of_rank{};    // NUMA domain within its node; empty: unknown, or one domain per node
  std::vector<i64> cartesian{};       // dimensions of the communicator's Cartesian topology, slowest first; empty: none
  // Bandwidths of the machine; 0: unknown.
  i64 link_mb_per_s = 0;      // of a node's network link, per direction
  i64 memory_mb_per_s = 0;    // of copies within a node
  i64 ranks() const { return static_cast<i64>(node_of_rank.size()); }
  i64 nodes() const { return static_cast<i64>(node_names.size()); }
  bool operator==(const Topology&) const = default;
};

}  // namespace mercutio
