// Which rank goes to which place, so that the sum over all pairs of ranks of volume times cost between their places is small.
#pragma once

#include <cstdint>
#include <vector>

#include "place/matrix.h"

namespace mercutio::place {

struct Problem {
  const Volume* volume = nullptr;
  Costs costs;
  std::vector<i64> room;   // ranks that each place can take
  i64 ranks() const { return volume->ranks(); }
  i64 places() const { return static_cast<i64>(room.size()); }
};

using Mapping = std::vector<i64>;   // the place of each rank

double cost_of(const Problem& problem, const Mapping& mapping);
bool fits(std::vector<i64> room, const Mapping& mapping);

// As launchers do it: a place is filled before the next.
Mapping in_blocks(const std::vector<i64>& room, i64 ranks);
Mapping at_random(const Problem& problem, std::uint64_t seed);

// MPIPP (Chen et al., ICS 2006): exchanges pairs of ranks as Kernighan and Lin do: in a pass the best exchange again and again,
// of ranks not exchanged before, and then as many of these as pay; passes as long as one gains. Never dearer than `start`.
// A pass costs O(ranks^2 * places).
Mapping improved(const Problem& problem, const Mapping& start);
// From random mappings, in turn of ranks, and of pairs of pairs of ... of ranks first; the cheapest of them.
Mapping mpipp(const Problem& problem, i64 restarts, std::uint64_t seed);

// SetMatch (Venkatesan et al., EuroMPI 2013): ranks that belong together become sets, and sets are matched to places, largest
// first, each where it costs least. Sets are those that have nothing to do with each other; one that no place can take whole is
// built up again along its largest volumes as far as places go. O(ranks^2 log ranks).
Mapping set_match(const Problem& problem);
// The sets of at most `most` ranks each; for tests.
std::vector<std::vector<i64>> sets_of(const Volume& volume, i64 most);

}  // namespace mercutio::place
