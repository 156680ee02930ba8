#include "place/mapping.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace mercutio::place {

double cost_of(const Problem& problem, const Mapping& mapping) {
  double sum = 0;
  for (i64 a = 0; a < problem.ranks(); ++a) {
    const float* row = problem.volume->row(a);
    const i64 place = mapping[static_cast<std::size_t>(a)];
    for (i64 b = a + 1; b < problem.ranks(); ++b) {
      if (row[b] != 0) sum += static_cast<double>(row[b]) * problem.costs.at(place, mapping[static_cast<std::size_t>(b)]);
    }
  }
  return sum;
}

bool fits(std::vector<i64> room, const Mapping& mapping) {
  return std::all_of(mapping.begin(), mapping.end(), [&](i64 place) {
    return place >= 0 && place < static_cast<i64>(room.size()) && --room[static_cast<std::size_t>(place)] >= 0;
  });
}

Mapping in_blocks(const std::vector<i64>& room, i64 ranks) {
  Mapping mapping;
  for (std::size_t place = 0; place < room.size(); ++place) {
    const i64 here = std::min(room[place], ranks - static_cast<i64>(mapping.size()));
    mapping.insert(mapping.end(), static_cast<std::size_t>(here), static_cast<i64>(place));
  }
  return mapping;
}

Mapping at_random(const Problem& problem, std::uint64_t seed) {
  Mapping mapping;
  for (i64 place = 0; place < problem.places(); ++place) {
    mapping.insert(mapping.end(), static_cast<std::size_t>(problem.room[static_cast<std::size_t>(place)]), place);
  }
  std::mt19937_64 random(seed);
  for (std::size_t i = mapping.size(); i > 1; --i) std::swap(mapping[i - 1], mapping[random() % i]);   // the same everywhere
  mapping.resize(static_cast<std::size_t>(problem.ranks()));
  return mapping;
}

}  // namespace mercutio::place
