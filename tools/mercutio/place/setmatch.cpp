#include <algorithm>
#include <numeric>

#include "place/mapping.h"

namespace mercutio::place {
namespace {

class Unions {
 public:
  explicit Unions(i64 count) : parent_(static_cast<std::size_t>(count)), size_(static_cast<std::size_t>(count), 1) {
    std::iota(parent_.begin(), parent_.end(), i64{0});
  }
  i64 root(i64 one) {
    while (up(one) != one) one = up(one) = up(up(one));
    return one;
  }
  void join(i64 a, i64 b, i64 most) {
    a = root(a), b = root(b);
    if (a == b || size(a) + size(b) > most) return;
    if (a > b) std::swap(a, b);
    up(b) = a;
    size(a) += size(b);
  }

 private:
  i64& up(i64 one) { return parent_[static_cast<std::size_t>(one)]; }
  i64& size(i64 one) { return size_[static_cast<std::size_t>(one)]; }
  std::vector<i64> parent_, size_;
};

std::vector<std::vector<i64>> lists(Unions& unions, const std::vector<i64>& ranks) {
  std::vector<std::vector<i64>> sets;
  std::vector<i64> number(ranks.size(), -1);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto root = static_cast<std::size_t>(unions.root(static_cast<i64>(i)));
    if (number[root] < 0) {
      number[root] = static_cast<i64>(sets.size());
      sets.emplace_back();
    }
    sets[static_cast<std::size_t>(number[root])].push_back(ranks[i]);
  }
  return sets;
}

// Along the largest volumes; of equal ones along those of neighbouring ranks.
std::vector<std::vector<i64>> built_up(const Volume& volume, const std::vector<i64>& ranks, i64 most) {
  struct Edge {
    float volume;
    std::int32_t a, b;
  };
  std::vector<Edge> edges;
  for (std::size_t a = 0; a < ranks.size(); ++a) {
    const float* row = volume.row(ranks[a]);
    for (std::size_t b = a + 1; b < ranks.size(); ++b) {
      if (row[ranks[b]] > 0) edges.push_back(Edge{row[ranks[b]], static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)});
    }
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& x, const Edge& y) {
    return x.volume != y.volume ? x.volume > y.volume : x.a != y.a ? x.a < y.a : x.b < y.b;
  });
  Unions unions(static_cast<i64>(ranks.size()));
  for (const Edge& edge : edges) unions.join(edge.a, edge.b, most);
  return lists(unions, ranks);
}

double volume_of(const Volume& volume, const std::vector<i64>& set) {
  double sum = 0;
  for (const i64 a : set) {
    for (const i64 b : set) sum += static_cast<double>(volume.at(a, b));
  }
  return sum;
}

class Matcher {
 public:
  explicit Matcher(const Problem& problem)
      : problem_(problem), left_(problem.room), mapping_(static_cast<std::size_t>(problem.ranks()), -1),
        near_(static_cast<std::size_t>(problem.places())) {}

  // Where it costs least, of those where it fits the tightest.
  void match(std::vector<i64> set) {
    while (!set.empty()) {
      const auto size = static_cast<i64>(set.size());
      const i64 widest = *std::max_element(left_.begin(), left_.end());
      const i64 part = std::min(size, widest);   // no place takes all: the first of them go to the one with most room
      weigh(set);
      i64 best = -1;
      for (i64 place = 0; place < problem_.places(); ++place) {
        if (room(place) < part) continue;
        const bool better = best < 0 || cost(place) < cost(best) || (cost(place) == cost(best) && room(place) < room(best));
        if (better) best = place;
      }
      for (i64 i = 0; i < part; ++i) mapping_[static_cast<std::size_t>(set[static_cast<std::size_t>(i)])] = best;
      left_[static_cast<std::size_t>(best)] -= part;
      set.erase(set.begin(), set.begin() + part);
    }
  }
  Mapping take() && { return std::move(mapping_); }

 private:
  i64 room(i64 place) const { return left_[static_cast<std::size_t>(place)]; }
  double cost(i64 place) const { return near_[static_cast<std::size_t>(place)]; }
  // What the set would cost at each place, with those that have one already.
  void weigh(const std::vector<i64>& set) {
    std::vector<double> volume(near_.size(), 0);
    for (const i64 rank : set) {
      const float* row = problem_.volume->row(rank);
      for (i64 other = 0; other < problem_.ranks(); ++other) {
        if (const i64 place = mapping_[static_cast<std::size_t>(other)]; place >= 0) volume[static_cast<std::size_t>(place)] += static_cast<double>(row[other]);
      }
    }
    for (i64 place = 0; place < problem_.places(); ++place) {
      double sum = 0;
      for (i64 other = 0; other < problem_.places(); ++other) sum += volume[static_cast<std::size_t>(other)] * problem_.costs.at(place, other);
      near_[static_cast<std::size_t>(place)] = sum;
    }
  }

  const Problem& problem_;
  std::vector<i64> left_;
  Mapping mapping_;
  std::vector<double> near_;
};

}  // namespace

std::vector<std::vector<i64>> sets_of(const Volume& volume, i64 most) {
  std::vector<i64> all(static_cast<std::size_t>(volume.ranks()));
  std::iota(all.begin(), all.end(), i64{0});
  Unions unions(volume.ranks());
  for (i64 a = 0; a < volume.ranks(); ++a) {
    for (i64 b = a + 1; b < volume.ranks(); ++b) {
      if (volume.at(a, b) > 0) unions.join(a, b, volume.ranks());
    }
  }
  std::vector<std::vector<i64>> sets;
  for (auto& set : lists(unions, all)) {
    if (static_cast<i64>(set.size()) <= most) {
      sets.push_back(std::move(set));
      continue;
    }
    for (auto& part : built_up(volume, set, most)) sets.push_back(std::move(part));
  }
  return sets;
}

Mapping set_match(const Problem& problem) {
  auto sets = sets_of(*problem.volume, *std::max_element(problem.room.begin(), problem.room.end()));
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < sets.size(); ++i) order.emplace_back(-volume_of(*problem.volume, sets[i]), i);
  std::stable_sort(order.begin(), order.end(), [&](const auto& x, const auto& y) {
    const std::size_t a = sets[x.second].size(), b = sets[y.second].size();
    return a != b ? a > b : x.first < y.first;
  });
  Matcher matcher(problem);
  for (const auto& [volume, i] : order) matcher.match(std::move(sets[i]));
  return std::move(matcher).take();
}

}  // namespace mercutio::place
