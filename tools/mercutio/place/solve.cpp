#include "place/solve.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include "place/scotch.h"

namespace mercutio::place {
namespace {

constexpr i64 kManyRanks = 512;   // for more, auto has MPIPP go on from SetMatch only

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::vector<Attempt> attempts(const Problem& problem, const Mapping& start, const Search& search) {
  std::vector<Attempt> all = {{"start", start, cost_of(problem, start), 0}};
  const auto attempt = [&](const char* name, const std::function<Mapping()>& method) {
    const double from = now();
    Mapping mapping = method();
    if (static_cast<i64>(mapping.size()) != problem.ranks() || !fits(problem.room, mapping)) return;
    const double cost = cost_of(problem, mapping);
    all.push_back({name, std::move(mapping), cost, now() - from});
  };
  const bool automatic = search.method == "auto", many = problem.ranks() > kManyRanks;
  const i64 restarts = search.restarts > 0 ? search.restarts : many ? 1 : 10;
  if (automatic || search.method == "setmatch") attempt("SetMatch", [&] { return set_match(problem); });
  if (automatic && cheapest(all).cost > 0) {
    const Mapping before = all.back().mapping;
    attempt("SetMatch, then MPIPP", [&] { return improved(problem, before); });
  }
  if (search.method == "mpipp" || (automatic && cheapest(all).cost > 0)) {
    if (!automatic || !many) attempt("MPIPP from the start", [&] { return improved(problem, start); });
    if (!automatic || !many || search.restarts > 0) attempt("MPIPP from random mappings", [&] { return mpipp(problem, restarts, search.seed); });
  }
  if (search.method == "scotch" || (automatic && have_scotch())) attempt("Scotch", [&] { return scotch(problem); });
  return all;
}

const Attempt& cheapest(const std::vector<Attempt>& all) {
  return *std::min_element(all.begin(), all.end(), [](const Attempt& a, const Attempt& b) { return a.cost < b.cost; });
}

std::vector<i64> cores_of(const Volume& volume, const Mapping& nodes, const std::vector<std::vector<i64>>& domains) {
  std::vector<i64> cores(nodes.size(), 0);
  std::vector<std::vector<i64>> members;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    members.resize(std::max(members.size(), static_cast<std::size_t>(nodes[rank]) + 1));
    members[static_cast<std::size_t>(nodes[rank])].push_back(static_cast<i64>(rank));
  }
  i64 all = 0;
  for (const auto& domain : domains) all += static_cast<i64>(domain.size());
  for (const auto& ranks : members) {
    const auto count = static_cast<i64>(ranks.size());
    if (all == 0) {   // nothing known of the node
      for (i64 i = 0; i < count; ++i) cores[static_cast<std::size_t>(ranks[static_cast<std::size_t>(i)])] = i;
      continue;
    }
    const Volume inside = volume.among(ranks);
    Problem problem{&inside, Costs(static_cast<i64>(domains.size()), 0, 1), {}};
    const i64 turns = std::max<i64>(1, (count + all - 1) / all);   // ranks on a core
    for (const auto& domain : domains) problem.room.push_back(turns * static_cast<i64>(domain.size()));
    const Mapping found = domains.size() > 1 ? cheapest(attempts(problem, in_blocks(problem.room, count), Search{"setmatch"})).mapping : in_blocks(problem.room, count);
    std::vector<std::size_t> used(domains.size(), 0);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto& domain = domains[static_cast<std::size_t>(found[i])];
      cores[static_cast<std::size_t>(ranks[i])] = domain[used[static_cast<std::size_t>(found[i])]++ % domain.size()];
    }
  }
  return cores;
}

}  // namespace mercutio::place
