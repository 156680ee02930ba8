// The whole of a placement: methods tried one after the other on nodes, then inside each node on its NUMA domains.
#pragma once

#include <string>
#include <vector>

#include "place/mapping.h"

namespace mercutio::place {

struct Attempt {
  std::string method;
  Mapping mapping;
  double cost = 0, seconds = 0;
};

struct Search {
  std::string method = "auto";   // auto, setmatch, mpipp, scotch
  i64 restarts = 0;              // of MPIPP; 0: some, few for many ranks
  std::uint64_t seed = 1;
};

// The start first. The cheapest of them, the earliest of equal ones, is never dearer than the start.
std::vector<Attempt> attempts(const Problem& problem, const Mapping& start, const Search& search);
const Attempt& cheapest(const std::vector<Attempt>& all);

// For each rank a core of its node, with ranks that belong together in a NUMA domain.
std::vector<i64> cores_of(const Volume& volume, const Mapping& nodes, const std::vector<std::vector<i64>>& domains);

}  // namespace mercutio::place
