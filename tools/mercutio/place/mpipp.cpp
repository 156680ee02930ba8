// For every rank there is kept what it would cost at each place, all others staying (`here_`). An exchange of r at a with s at b
// then gains here(r,a) - here(r,b) + here(s,b) - here(s,a) - volume(r,s) * (2 cost(a,b) - cost(a,a) - cost(b,b)). As the last term
// is never negative where a place is nearer to itself than to others, the largest gains of moving from a to b and from b to a bound
// what a pair can bring, and most pairs of places are never looked into.
#include <algorithm>

#include "place/mapping.h"

namespace mercutio::place {
namespace {

constexpr double kLeast = 1e-9;   // of the cost: gains below are rounding

struct Exchange {
  i64 a = -1, b = -1;
  double gain = 0;
};

class Pass {
 public:
  Pass(const Problem& problem, const Mapping& start) : problem_(problem), places_(problem.places()), mapping_(start) {
    // Rooms that are left are ranks without volume, so that every move is an exchange.
    std::vector<i64> left = problem.room;
    for (const i64 place : mapping_) --left[static_cast<std::size_t>(place)];
    for (i64 place = 0; place < places_; ++place) {
      const i64 dummies = std::min(left[static_cast<std::size_t>(place)], problem.ranks());
      mapping_.insert(mapping_.end(), static_cast<std::size_t>(dummies), place);
    }
    here_.assign(mapping_.size() * static_cast<std::size_t>(places_), 0);
    for (i64 rank = 0; rank < problem.ranks(); ++rank) {
      for (i64 other = 0; other < problem.ranks(); ++other) add(rank, problem.volume->at(rank, other), place_of(other));
    }
    free_.resize(mapping_.size());
    members_.resize(static_cast<std::size_t>(places_));
  }

  // What it gained.
  double run() {
    const Mapping before = mapping_;
    std::fill(free_.begin(), free_.end(), true);
    std::vector<Exchange> done;
    double sum = 0, best = 0;
    std::size_t kept = 0;
    const std::size_t patience = 64 + mapping_.size() / 16;   // exchanges without a new best
    while (done.size() - kept < patience) {
      const Exchange next = best_exchange();
      if (next.a < 0) break;
      exchange(next);
      free_[static_cast<std::size_t>(next.a)] = free_[static_cast<std::size_t>(next.b)] = false;
      done.push_back(next);
      sum += next.gain;
      if (sum > best) best = sum, kept = done.size();
    }
    while (done.size() > kept) {
      exchange(done.back());
      done.pop_back();
    }
    return best;
  }

  Mapping mapping() const { return Mapping(mapping_.begin(), mapping_.begin() + problem_.ranks()); }

 private:
  i64 place_of(i64 rank) const { return mapping_[static_cast<std::size_t>(rank)]; }
  const double* here(i64 rank) const { return here_.data() + rank * places_; }
  double volume(i64 a, i64 b) const { return a < problem_.ranks() && b < problem_.ranks() ? problem_.volume->at(a, b) : 0; }

  void add(i64 rank, double volume, i64 place) {
    if (volume == 0) return;
    double* at = here_.data() + rank * places_;
    for (i64 p = 0; p < places_; ++p) at[p] += volume * problem_.costs.at(place, p);
  }

  void exchange(const Exchange& pair) {
    const i64 a = place_of(pair.a), b = place_of(pair.b);
    for (i64 rank = 0; rank < problem_.ranks(); ++rank) {
      const double difference = volume(rank, pair.a) - volume(rank, pair.b);
      if (difference == 0) continue;
      double* at = here_.data() + rank * places_;
      for (i64 p = 0; p < places_; ++p) at[p] += difference * (problem_.costs.at(b, p) - problem_.costs.at(a, p));
    }
    std::swap(mapping_[static_cast<std::size_t>(pair.a)], mapping_[static_cast<std::size_t>(pair.b)]);
  }

  Exchange best_exchange() {
    constexpr double kNone = -1e300;
    most_.assign(static_cast<std::size_t>(places_ * places_), kNone);
    for (auto& list : members_) list.clear();
    for (std::size_t i = 0; i < mapping_.size(); ++i) {
      if (!free_[i]) continue;
      const i64 rank = static_cast<i64>(i), a = place_of(rank);
      members_[static_cast<std::size_t>(a)].push_back(rank);
      const double* costs = here(rank);
      double* most = most_.data() + a * places_;
      for (i64 b = 0; b < places_; ++b) most[b] = std::max(most[b], costs[a] - costs[b]);
    }
    Exchange best{-1, -1, kNone};
    for (i64 a = 0; a < places_; ++a) {
      for (i64 b = a + 1; b < places_; ++b) {
        if (most_[static_cast<std::size_t>(a * places_ + b)] + most_[static_cast<std::size_t>(b * places_ + a)] > best.gain) search(a, b, best);
      }
    }
    return best;
  }

  void search(i64 a, i64 b, Exchange& best) {
    const double apart = 2 * problem_.costs.at(a, b) - problem_.costs.at(a, a) - problem_.costs.at(b, b);
    const double back = most_[static_cast<std::size_t>(b * places_ + a)];
    for (const i64 r : members_[static_cast<std::size_t>(a)]) {
      const double gain = here(r)[a] - here(r)[b];
      if (gain + back <= best.gain) continue;
      for (const i64 s : members_[static_cast<std::size_t>(b)]) {
        const double both = gain + here(s)[b] - here(s)[a] - volume(r, s) * apart;
        if (both > best.gain) best = Exchange{r, s, both};
      }
    }
  }

  const Problem& problem_;
  const i64 places_;
  Mapping mapping_;             // of the ranks, then of the rooms that are left
  std::vector<double> here_;    // rank by place
  std::vector<bool> free_;      // not exchanged in this pass
  std::vector<double> most_;    // place by place: the most that moving a rank from one to the other gains
  std::vector<std::vector<i64>> members_;
};

// Each rank with the one it has most to do with that is still alone; the rest as they come. The number of the pair of each rank.
std::vector<i64> paired(const Volume& volume) {
  struct Edge {
    float volume;
    std::int32_t a, b;
  };
  std::vector<Edge> edges;
  const auto ranks = static_cast<std::int32_t>(volume.ranks());
  for (std::int32_t a = 0; a < ranks; ++a) {
    for (std::int32_t b = a + 1; b < ranks; ++b) {
      if (volume.at(a, b) > 0) edges.push_back(Edge{volume.at(a, b), a, b});
    }
  }
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& x, const Edge& y) { return x.volume > y.volume; });
  std::vector<i64> pair(static_cast<std::size_t>(ranks), -1);
  i64 pairs = 0;
  for (const Edge& edge : edges) {
    i64 &a = pair[static_cast<std::size_t>(edge.a)], &b = pair[static_cast<std::size_t>(edge.b)];
    if (a < 0 && b < 0) a = b = pairs++;
  }
  bool open = false;
  for (i64& one : pair) {
    if (one >= 0) continue;
    one = open ? pairs++ : pairs;
    open = !open;
  }
  return pair;
}

// Where places have even rooms, pairs are mapped first and in the same way, and then the ranks from there: single exchanges
// hardly move what belongs together.
Mapping by_pairs(const Problem& problem, std::uint64_t seed) {
  const bool even = std::all_of(problem.room.begin(), problem.room.end(), [](i64 room) { return room % 2 == 0; });
  if (!even || problem.ranks() <= problem.places()) return improved(problem, at_random(problem, seed));
  const std::vector<i64> pair = paired(*problem.volume);
  Volume volume((problem.ranks() + 1) / 2);
  for (i64 a = 0; a < problem.ranks(); ++a) {
    for (i64 b = a + 1; b < problem.ranks(); ++b) {
      if (problem.volume->at(a, b) > 0) volume.add(pair[static_cast<std::size_t>(a)], pair[static_cast<std::size_t>(b)], problem.volume->at(a, b));
    }
  }
  Problem half{&volume, problem.costs, problem.room};
  for (i64& room : half.room) room /= 2;
  const Mapping coarse = by_pairs(half, seed);
  Mapping mapping;
  for (const i64 one : pair) mapping.push_back(coarse[static_cast<std::size_t>(one)]);
  return improved(problem, mapping);
}

}  // namespace

Mapping improved(const Problem& problem, const Mapping& start) {
  constexpr int kMostPasses = 50;
  const double cost = cost_of(problem, start);
  if (problem.places() < 2 || cost == 0) return start;
  Pass pass(problem, start);
  for (int i = 0; i < kMostPasses && pass.run() > kLeast * cost; ++i) {
  }
  Mapping found = pass.mapping();
  return cost_of(problem, found) < cost ? found : start;
}

Mapping mpipp(const Problem& problem, i64 restarts, std::uint64_t seed) {
  Mapping best;
  for (i64 i = 0; i < std::max<i64>(1, restarts); ++i) {
    const std::uint64_t chance = seed + static_cast<std::uint64_t>(i);
    Mapping found = i % 2 == 0 ? by_pairs(problem, chance) : improved(problem, at_random(problem, chance));
    if (best.empty() || cost_of(problem, found) < cost_of(problem, best)) best = std::move(found);
  }
  return best;
}

}  // namespace mercutio::place
