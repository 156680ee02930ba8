// Number of aggregators and where they sit. Sources: one aggregator per amount of data that saturates a process (Chaarawi
// and Gabriel 2011); layouts round robin over nodes and along the stripes (Tsujita et al. 2015, 2018); an even division of
// servers among aggregators as ROMIO's Lustre driver makes it; each server written from one node. O(ranks).
#include <algorithm>
#include <map>
#include <numeric>

#include "base/split.h"
#include "base/trim.h"
#include "plan/planner.h"

namespace mercutio::planning {
namespace {

constexpr i64 kMostComparisons = 1'000'000;   // of the cost-based placement

using NodeLists = std::vector<std::vector<i64>>;

i64 total(const NodeLists& lists) {
  return std::accumulate(lists.begin(), lists.end(), i64{0}, [](i64 sum, const auto& list) { return sum + static_cast<i64>(list.size()); });
}

// Those of a node that has several NUMA domains take turns over the domains, so that the first few do not share one.
void interleave_domains(const Planner& p, NodeLists& lists) {
  const std::vector<i64>& domain = p.topology.numa_of_rank;
  if (static_cast<i64>(domain.size()) < p.pattern.ranks) return;
  for (auto& list : lists) {
    std::map<i64, i64> seen;
    std::vector<std::pair<i64, i64>> turns;   // of the rank in its domain, and the domain
    for (const i64 rank : list) turns.emplace_back(seen[domain[static_cast<size_t>(rank)]]++, domain[static_cast<size_t>(rank)]);
    std::vector<size_t> order(list.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return turns[a] < turns[b]; });
    const std::vector<i64> ranks = list;
    for (size_t i = 0; i < order.size(); ++i) list[i] = ranks[order[i]];
  }
}

// The ranks of each node, as many as cb_config_list lets it have.
NodeLists candidates(const Planner& p, std::string& why) {
  NodeLists lists(static_cast<size_t>(p.nodes()));
  for (i64 rank = 0; rank < p.pattern.ranks; ++rank) lists[static_cast<size_t>(p.node_of(rank))].push_back(rank);
  interleave_domains(p, lists);
  const NodeLists all = lists;
  bool none = false;
  const std::vector<i64> limits = aggregator_limits(p, none);
  for (size_t node = 0; node < lists.size() && node < limits.size(); ++node) {
    if (static_cast<i64>(lists[node].size()) > limits[node]) lists[node].resize(static_cast<size_t>(limits[node]));
  }
  if (!limits.empty()) why = none || total(lists) == 0 ? ", cb_config_list leaves no rank and is not followed" : ", within cb_config_list";
  return total(lists) == 0 ? all : lists;
}

// As many as share the servers almost evenly, so that each server meets a constant few of them.
i64 conforming_count(const Planner& p, i64 wanted) {
  const i64 servers = p.servers();
  if (wanted >= servers) return servers * std::min(wanted / servers, std::max<i64>(1, p.hints.romio_lustre_co_ratio));
  return even_count(servers, wanted);
}

// The three steps (see plan/groups.cpp), where the saturation point is known; then no more of them than the cost model
// finds worth it, nor than the nodes are known to need.
i64 count_by_steps(Planner& p, i64 most, std::string& why) {
  const i64 groups = std::min(count_groups(p, why), most);
  i64 wanted = groups;
  if (p.hints.mercutio_aggregators_per_node > 0) wanted = std::min(wanted, most_aggregators(p.topology, p.hints));
  if (wanted < groups) why += ", mercutio_aggregators_per_node=" + std::to_string(p.hints.mercutio_aggregators_per_node);
  const i64 cheapest = cheapest_count(p, wanted);
  if (cheapest < wanted) why += ", of " + std::to_string(wanted) + " not more than pay in the cost model: " + cost_text(cost_of(p, cheapest));
  return cheapest;
}

i64 count_aggregators(Planner& p, i64 most, std::string& why) {
  i64 wanted = p.hints.cb_nodes;
  if (wanted > 0) {
    why = "cb_nodes=" + std::to_string(wanted);
  } else if (p.hints.mercutio_placement == WantedPlacement::kCost) {
    wanted = cheapest_count(p, most);
    why = "cheapest in the cost model: " + cost_text(cost_of(p, wanted));
  } else if (p.hints.mercutio_saturation_bytes > 0) {
    wanted = count_by_steps(p, most, why);
  } else {
    const i64 worth = ceil_div(p.pattern.bytes, kAggregatorWorthBytes), usual = most_aggregators(p.topology, p.hints);
    // One for each server, where a node can be expected to keep so many busy.
    const bool by_servers = p.plan.cyclic() && p.striped() && p.hints.mercutio_aggregators_per_node == 0;
    const i64 several = by_servers ? std::max(usual, std::min(p.servers(), kMostServersForANode * p.nodes())) : usual;
    const i64 long_messages = std::max(p.nodes(), p.pattern.bytes / (p.nodes() * kMessageWorthBytes));
    wanted = std::min({several, worth, p.nodes() > 1 ? long_messages : several});
    why = std::to_string(p.per_node()) + " a node";
    if (several > usual && usual < most) why = "one per server";
    if (wanted == worth) why = "one per MiB of data";
    if (wanted < std::min(several, worth)) why = "messages between nodes would get short";
  }
  wanted = std::clamp<i64>(wanted, 1, most);
  const i64 kept = most_with_node_buffers(p);
  if (p.hints.cb_nodes == 0 && kept > 0 && wanted > kept) {
    wanted = kept;
    why += ", of " + std::to_string(p.pattern.ranks) + " ranks no more than the memory of the nodes has windows for";
  }
  if (p.plan.cyclic() && p.striped()) {
    const i64 even = conforming_count(p, wanted);
    if (even != wanted) why += ", of " + std::to_string(wanted) + " as many as share " + std::to_string(p.servers()) + " servers evenly";
    wanted = even;
  }
  return wanted;
}

// The first rank of every node, then the second, ...
std::vector<i64> round_robin(const NodeLists& lists, i64 wanted) {
  std::vector<i64> out;
  for (size_t turn = 0; static_cast<i64>(out.size()) < wanted; ++turn) {
    for (size_t node = 0; node < lists.size() && static_cast<i64>(out.size()) < wanted; ++node) {
      if (turn < lists[node].size()) out.push_back(lists[node][turn]);
    }
  }
  return out;
}

std::vector<i64> rank_order(const NodeLists& lists, i64 wanted) {
  std::vector<i64> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  std::sort(all.begin(), all.end());
  all.resize(static_cast<size_t>(wanted));
  return all;
}

// All aggregators of a server on one node, servers spread over the nodes as evenly as they go.
std::vector<i64> stripe_aware(const NodeLists& lists, i64 wanted, i64 servers) {
  const i64 nodes = static_cast<i64>(lists.size());
  const i64 homes = std::max<i64>(1, std::min(wanted, servers > 0 ? servers : wanted));
  const i64 pitch = homes <= nodes ? nodes / homes : 1;
  std::vector<size_t> used(lists.size(), 0);
  std::vector<i64> out;
  for (i64 i = 0; i < wanted; ++i) {
    size_t node = static_cast<size_t>(i % homes * pitch % nodes);
    while (used[node] >= lists[node].size()) node = (node + 1) % lists.size();   // a full node: the next one
    out.push_back(lists[node][used[node]++]);
  }
  return out;
}

// For every domain the node that holds most of what the groups of ranks have there, less what it already carries.
std::vector<i64> least_cost(const Planner& p, const NodeLists& lists, i64 wanted) {
  const auto& groups = p.pattern.groups;
  const i64 share = std::max<i64>(1, ceil_div(p.pattern.end - p.pattern.begin, wanted));
  std::vector<size_t> used(lists.size(), 0);
  std::vector<i64> out;
  for (i64 i = 0; i < wanted; ++i) {
    const FileRange domain{p.pattern.begin + i * share, std::min(p.pattern.end, p.pattern.begin + (i + 1) * share)};
    std::vector<double> gain(lists.size(), 0);
    for (const RankRow& group : groups) {
      const i64 common = std::min(domain.end, group.end) - std::max(domain.begin, group.begin);
      if (common <= 0 || p.plan.cyclic()) continue;
      const double bytes = static_cast<double>(group.bytes) * static_cast<double>(common) / static_cast<double>(group.end - group.begin);
      const auto [low, high] = std::minmax({p.node_of(group.first_rank), p.node_of(group.end_rank - 1)});   // and those between
      for (i64 node = low; node <= high; ++node) gain[static_cast<size_t>(node)] += bytes / static_cast<double>(high - low + 1);
    }
    size_t best = lists.size();
    for (size_t node = 0; node < lists.size(); ++node) {
      if (used[node] >= lists[node].size()) continue;
      gain[node] -= static_cast<double>(used[node]) * static_cast<double>(share);
      if (best == lists.size() || gain[node] > gain[best]) best = node;
    }
    out.push_back(lists[best][used[best]++]);
  }
  return out;
}

std::vector<i64> place(Planner& p, const NodeLists& lists, i64 wanted, std::string& why) {
  const WantedPlacement wish = p.hints.mercutio_placement;
  Placement& placement = p.plan.placement;
  placement = p.plan.cyclic() ? Placement::kStripeAware : Placement::kRoundRobin;
  if (wish == WantedPlacement::kRankOrder) placement = Placement::kRankOrder;
  if (wish == WantedPlacement::kRoundRobin) placement = Placement::kRoundRobin;
  if (wish == WantedPlacement::kStripeAware) placement = Placement::kStripeAware;
  const i64 comparisons = wanted * static_cast<i64>(p.pattern.groups.size() + lists.size());
  if (wish == WantedPlacement::kCost && comparisons <= kMostComparisons) placement = Placement::kCost;
  switch (placement) {
    case Placement::kRankOrder: why = ", rank order"; return rank_order(lists, wanted);
    case Placement::kStripeAware: why = ", each server from one node"; return stripe_aware(lists, wanted, p.servers());
    case Placement::kCost: why = ", on the nodes with most of the data"; return least_cost(p, lists, wanted);
    case Placement::kRoundRobin: break;
  }
  why = ", round robin over nodes";
  std::vector<i64> out = round_robin(lists, wanted);
  // Neighbouring domains on neighbouring ranks: data that already lies in rank order moves least.
  if (wish != WantedPlacement::kRoundRobin) std::sort(out.begin(), out.end());
  return out;
}

std::string place_in_groups(Planner& p) {
  const std::string why = form_groups(p);
  const bool all_write = p.plan.strategy == Strategy::kRowTransposition;
  for (const RankRow& group : p.groups) {
    for (i64 rank = group.first_rank; rank < (all_write ? group.end_rank : group.first_rank + 1); ++rank) {
      p.plan.aggregators.push_back(rank);
    }
  }
  p.plan.placement = Placement::kRankOrder;
  return why + (all_write ? ", every member writes" : ", the first of each group");
}

}  // namespace

std::vector<i64> aggregator_limits(const Planner& p, bool& none) {
  none = false;
  if (p.hints.cb_config_list == "*:1" || p.hints.cb_config_list.empty()) return {};
  std::vector<i64> limits(static_cast<size_t>(p.nodes()), -1);
  i64 others = 0;
  for (const std::string_view part : split(p.hints.cb_config_list, ',')) {
    const size_t colon = part.rfind(':');
    const std::string_view host = trimmed(part.substr(0, colon));
    const std::string number(colon == std::string_view::npos ? "1" : trimmed(part.substr(colon + 1)));
    const i64 limit = number == "*" ? p.pattern.ranks : std::stoll(number);
    if (host == "*") others = limit;
    for (size_t node = 0; node < limits.size() && node < p.topology.node_names.size(); ++node) {
      if (p.topology.node_names[node] == host) limits[node] = limit;
    }
  }
  for (i64& limit : limits) limit = limit < 0 ? others : limit;
  none = std::all_of(limits.begin(), limits.end(), [](i64 limit) { return limit == 0; });
  return limits;
}

std::string place_aggregators(Planner& p) {
  if (!p.plan.exchanges()) return "none needed";
  if (p.segmented()) return place_in_groups(p);
  std::string limited, counted, placed;
  const NodeLists lists = candidates(p, limited);
  const i64 wanted = count_aggregators(p, total(lists), counted);
  p.plan.aggregators = place(p, lists, wanted, placed);
  return counted + placed + limited;
}

}  // namespace mercutio::planning
