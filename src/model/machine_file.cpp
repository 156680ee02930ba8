#include "model/machine_file.h"

#include <algorithm>
#include <numeric>

#include "model/keyed_lines.h"

namespace mercutio {
namespace {

constexpr i64 kMostRanks = 1 << 24;
constexpr i64 kMostServers = 1 << 20;
constexpr i64 kSharedBytes = 20 * MiB;   // of a rank, as the library shares them

// The lines, before ranks are given to nodes.
struct Description {
  i64 nodes = 1, numa_per_node = 0;
  std::vector<i64> ranks_per_node = {1};
  std::vector<std::string> names;
  std::string map = "block";
  std::vector<i64> node_of_rank;   // from a map that lists it
  int shared_memory = -1;          // -1: as it would be: where a node has several ranks
  Machine machine;
};

Status read_map(Description& d, const KeyedLine& line) {
  if (line.words.size() == 1 && (line.words[0] == "block" || line.words[0] == "cyclic")) {
    d.map = line.words[0];
    return ok_status();
  }
  auto nodes = line.sizes();
  if (!nodes) return line.wrong("must be block, cyclic, or the node of every rank");
  d.node_of_rank = std::move(*nodes);
  return ok_status();
}

// Keys that are one number each.
i64* number_of(Description& d, const std::string& key) {
  Topology& topology = d.machine.topology;
  Layout& layout = d.machine.layout;
  if (key == "nodes") return &d.nodes;
  if (key == "numa_per_node") return &d.numa_per_node;
  if (key == "link_mb_per_s") return &topology.link_mb_per_s;
  if (key == "memory_mb_per_s") return &topology.memory_mb_per_s;
  if (key == "stripe_bytes") return &layout.stripe_bytes;
  if (key == "block_bytes") return &layout.block_bytes;
  if (key == "servers") return &layout.stripe_count;
  if (key == "first_server") return &layout.first_server;
  return key == "server_mb_per_s" ? &layout.server_mb_per_s : nullptr;
}

// Begin, end (0: the end of the file), stripe bytes and servers of a range.
Status read_component(Description& d, const KeyedLine& line) {
  MERCUTIO_LET(const std::vector<i64> sizes, line.sizes());
  if (sizes.size() != 4) return line.wrong("must be begin, end (0: of the file), stripe bytes and servers");
  LayoutComponent component;
  component.begin = sizes[0];
  component.end = sizes[1] > 0 ? sizes[1] : kEndOfFile;
  component.stripe_bytes = sizes[2];
  component.stripe_count = sizes[3];
  std::vector<LayoutComponent>& components = d.machine.layout.components;
  const bool follows = components.empty() ? component.begin == 0 : component.begin == components.back().end;
  if (!follows || component.end <= component.begin) return line.wrong("components follow each other from the start of the file");
  if (component.stripe_bytes < 1 || component.stripe_count < 1 || component.stripe_count > kMostServers) return line.wrong("stripes of no bytes, or no servers");
  components.push_back(component);
  return ok_status();
}

Status read_line(Description& d, const KeyedLine& line) {
  if (i64* number = number_of(d, line.key)) {
    if (line.words.size() > 1) return line.wrong("one number only");
    MERCUTIO_LET(*number, line.size());
    return ok_status();
  }
  if (line.key == "map") return read_map(d, line);
  if (line.key == "component") return read_component(d, line);
  if (line.key == "ranks_per_node") {
    MERCUTIO_LET(d.ranks_per_node, line.sizes());
  } else if (line.key == "cartesian") {
    MERCUTIO_LET(d.machine.topology.cartesian, line.sizes());
  } else if (line.key == "node_names") {
    d.names = line.words;
  } else if (line.key == "shared_memory") {
    MERCUTIO_LET(const bool shared, line.yes_or_no());
    d.shared_memory = shared ? 1 : 0;
  } else if (line.key == "cached") {
    MERCUTIO_LET(d.machine.layout.cached, line.yes_or_no());
  } else {
    return line.wrong("no such key in a machine file");
  }
  return ok_status();
}

// Block: a node's ranks follow each other. Cyclic: every node in turn, as long as it has room.
std::vector<i64> spread(const Description& d) {
  std::vector<i64> left = d.ranks_per_node, out;
  if (left.size() == 1) left.assign(static_cast<size_t>(d.nodes), d.ranks_per_node[0]);
  const i64 ranks = std::accumulate(left.begin(), left.end(), i64{0});
  for (size_t node = 0; static_cast<i64>(out.size()) < ranks; node = (node + 1) % left.size()) {
    const i64 here = d.map == "block" ? left[node] : std::min<i64>(1, left[node]);
    out.insert(out.end(), static_cast<size_t>(here), static_cast<i64>(node));
    left[node] -= here;
  }
  return out;
}

// A node's ranks in equal blocks over its domains.
std::vector<i64> numa_domains(const Topology& topology, i64 domains) {
  std::vector<i64> members(static_cast<size_t>(topology.nodes()), 0), seen = members, out;
  for (const i64 node : topology.node_of_rank) ++members[static_cast<size_t>(node)];
  for (const i64 node : topology.node_of_rank) {
    const size_t at = static_cast<size_t>(node);
    out.push_back(seen[at]++ * domains / members[at]);
  }
  return out;
}

Status check(const Description& d) {
  const auto wrong = [](const char* why) { return Error{ErrorClass::kArg, why}; };
  if (d.nodes < 1 || d.nodes > kMostRanks) return wrong("nodes: there must be one, and not more than 2^24");
  const size_t nodes = static_cast<size_t>(d.nodes);
  if (!d.names.empty() && d.names.size() != nodes) return wrong("node_names: one for every node");
  if (d.ranks_per_node.size() != 1 && d.ranks_per_node.size() != nodes) return wrong("ranks_per_node: one number, or one a node");
  i64 ranks = 0;
  for (const i64 count : d.ranks_per_node) {
    if (count < 1 || count > kMostRanks) return wrong("ranks_per_node: a node has a rank, and not more than 2^24");
    ranks += d.ranks_per_node.size() == 1 ? count * d.nodes : count;
  }
  if (ranks > kMostRanks) return wrong("more than 2^24 ranks");
  std::vector<bool> used(nodes, false);
  for (const i64 node : d.node_of_rank) {
    if (node >= d.nodes) return wrong("map: a rank sits on a node that is not there");
    used[static_cast<size_t>(node)] = true;
  }
  if (!d.node_of_rank.empty() && std::find(used.begin(), used.end(), false) != used.end()) return wrong("map: a node has no rank");
  i64 places = 1;
  for (const i64 extent : d.machine.topology.cartesian) {
    if (extent < 1 || extent > kMostRanks / places) return wrong("cartesian: every dimension has a place, and all not more than 2^24");
    places *= extent;
  }
  if (d.numa_per_node > kMostRanks) return wrong("numa_per_node: not more than 2^24");
  return ok_status();
}

}  // namespace

Result<Machine> parse_machine(const std::string& text) {
  Description d;
  for (const KeyedLine& line : keyed_lines(text)) MERCUTIO_TRY(read_line(d, line));
  MERCUTIO_TRY(check(d));
  Topology& topology = d.machine.topology;
  for (i64 node = 0; node < d.nodes; ++node) {
    topology.node_names.push_back(d.names.empty() ? "n" + std::to_string(node) : d.names[static_cast<size_t>(node)]);
  }
  topology.node_of_rank = d.node_of_rank.empty() ? spread(d) : std::move(d.node_of_rank);
  if (d.numa_per_node > 1) topology.numa_of_rank = numa_domains(topology, d.numa_per_node);
  topology.segment_bytes = d.shared_memory != 0 && topology.ranks() > topology.nodes() ? kSharedBytes : 0;
  return std::move(d.machine);
}

}  // namespace mercutio
