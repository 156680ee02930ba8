// Which rank sits where. Made by Comm, or read from a machine file for tests.
#pragma once

#include <string>
#include <vector>

#include "base/types.h"

namespace mercutio {

struct Topology {
  std::vector<i64> node_of_rank;    // index into node_names
  std::vector<std::string> node_names;
  i64 segment_bytes = 0;   // of memory that each rank shares with those of its node; 0: they can't
  std::vector<i64> numa_of_rank{};    // NUMA domain inside its node; empty: not known, or one domain a node
  std::vector<i64> cartesian{};       // dimensions of the communicator's Cartesian topology, slowest first; empty: none
  // What the machine can do; 0: unknown.
  i64 link_mb_per_s = 0;      // of a node's network link, a direction
  i64 memory_mb_per_s = 0;    // of copies inside a node
  i64 ranks() const { return static_cast<i64>(node_of_rank.size()); }
  i64 nodes() const { return static_cast<i64>(node_names.size()); }
  bool operator==(const Topology&) const = default;
};

}  // namespace mercutio
