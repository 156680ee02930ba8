// Reads what is given, has the methods of place/ solve it, prints what came of it and writes the launchers' files.
#include "place.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <optional>
#include <sstream>

#include "base/file_text.h"
#include "insight/findings.h"
#include "model/machine_file.h"
#include "place/cluster.h"
#include "place/recorded.h"
#include "process.h"
#include "trace_file.h"

namespace mercutio::tool {
namespace {

using place::Attempt;
using place::Costs;
using place::Mapping;
using place::Node;
using place::Seat;

Error about(const std::string& what, const std::string& why) {
  return Error{ErrorClass::kArg, what + ": " + why};
}

Result<std::string> text_of(const std::string& path) {
  auto text = text_of_file(path);
  if (!text) return about(path, std::strerror(text.error().sys_errno));
  return text;
}

// What is to be solved, and where it comes from.
struct Task {
  std::optional<place::RecordedRun> run;
  place::Volume volume;
  std::vector<Node> nodes;
  Mapping start;
  std::string start_name;
  place::Problem problem;
  std::vector<std::vector<i64>> domains;   // cores of a node, by NUMA domain
};

i64 ranks_of(const Task& task) {
  return task.run ? task.run->ranks : task.volume.ranks();
}

// Nodes that are not said to take a number of ranks take an equal share of those that are left.
void share_ranks(std::vector<Node>& nodes, i64 ranks) {
  i64 open = 0, given = 0;
  for (const Node& node : nodes) node.ranks > 0 ? void(given += node.ranks) : void(++open);
  for (Node& node : nodes) {
    if (node.ranks == 0) node.ranks = std::max<i64>(1, (ranks - given + open - 1) / open);
  }
}

// The nodes of the machine file with the ranks they have there, and its mapping as the start.
Status take_machine(const PlaceOptions& options, Task& task) {
  MERCUTIO_LET(const std::string text, text_of(options.machine_file));
  auto machine = parse_machine(text);
  if (!machine) return about(options.machine_file, machine.error().what);
  const Topology& topology = machine->topology;
  for (const std::string& name : topology.node_names) task.nodes.push_back(Node{name, 0});
  for (const i64 node : topology.node_of_rank) ++task.nodes[static_cast<std::size_t>(node)].ranks;
  if (topology.ranks() == ranks_of(task)) {
    task.start = topology.node_of_rank;
    task.start_name = "as in " + options.machine_file;
  }
  return ok_status();
}

// The hosts of the run, as many ranks on each as there were.
void take_recorded_hosts(Task& task) {
  for (const std::string& host : task.run->hosts) {
    const auto known = std::find_if(task.nodes.begin(), task.nodes.end(), [&](const Node& node) { return node.name == host; });
    known == task.nodes.end() ? task.nodes.push_back(Node{host, 1}) : void(++known->ranks);
  }
}

Status take_nodes(const PlaceOptions& options, Task& task) {
  if (!options.hosts_file.empty()) {
    MERCUTIO_LET(const std::string text, text_of(options.hosts_file));
    auto nodes = place::parse_hosts(text);
    if (!nodes) return about(options.hosts_file, nodes.error().what);
    task.nodes = std::move(*nodes);
    share_ranks(task.nodes, ranks_of(task));
  } else if (!options.machine_file.empty()) {
    MERCUTIO_TRY(take_machine(options, task));
  } else if (task.run) {
    take_recorded_hosts(task);
  } else {
    return Error{ErrorClass::kArg, "a matrix says nothing about nodes: give them with --hosts FILE (a line for each: node1 slots=4) or --machine FILE"};
  }
  i64 room = 0;
  for (const Node& node : task.nodes) room += node.ranks;
  if (room < ranks_of(task))
    return Error{ErrorClass::kArg, "the nodes take " + std::to_string(room) + " ranks, but there are " + std::to_string(ranks_of(task))};
  for (const Node& node : task.nodes) task.problem.room.push_back(node.ranks);
  return ok_status();
}

// Where the ranks ran, if those nodes are still there; otherwise as launchers put them.
void choose_start(Task& task) {
  if (!task.start.empty()) return;
  Mapping recorded;
  for (std::size_t rank = 0; task.run && rank < task.run->hosts.size(); ++rank) {
    const auto node = std::find_if(task.nodes.begin(), task.nodes.end(), [&](const Node& one) { return one.name == task.run->hosts[rank]; });
    recorded.push_back(node == task.nodes.end() ? -1 : node - task.nodes.begin());
  }
  const bool same = task.run && place::fits(task.problem.room, recorded);
  task.start_name = same ? "as recorded" : "in blocks";
  if (same) {
    task.start = std::move(recorded);
  } else {
    task.start = place::in_blocks(task.problem.room, ranks_of(task));
  }
}

Status take_costs(const PlaceOptions& options, Task& task) {
  const auto nodes = static_cast<i64>(task.nodes.size());
  task.problem.costs = Costs(nodes, 0, 1);
  if (options.costs_file.empty()) return ok_status();
  MERCUTIO_LET(const std::string text, text_of(options.costs_file));
  auto costs = place::parse_costs(text);
  if (!costs) return about(options.costs_file, costs.error().what);
  if (costs->places() != nodes)
    return about(options.costs_file, "costs between " + std::to_string(costs->places()) + " nodes, but there are " + std::to_string(nodes));
  task.problem.costs = std::move(*costs);
  return ok_status();
}

Status take_topology(const PlaceOptions& options, Task& task) {
  if (options.topology.empty()) return ok_status();
  std::string xml;
  if (options.topology == "here") {
    const std::string lstopo = find_on_path("lstopo-no-graphics").empty() ? find_on_path("lstopo") : find_on_path("lstopo-no-graphics");
    if (lstopo.empty()) return Error{ErrorClass::kArg, "--topology here needs hwloc's lstopo (Debian: hwloc-nox)"};
    xml = capture({lstopo, "--of", "xml"}, 60).text;
  } else {
    MERCUTIO_LET(xml, text_of(options.topology));
  }
  auto domains = place::parse_topology(xml);
  if (!domains) return about(options.topology, domains.error().what);
  task.domains = std::move(*domains);
  return ok_status();
}

Status take_volume(const PlaceOptions& options, Task& task) {
  if (!task.run) return ok_status();
  task.volume = options.use == "neighbours" ? place::neighbours(*task.run) : place::exchanged(*task.run, task.start);
  if (!task.volume.empty()) return ok_status();
  const bool none = task.run->files.empty();
  return about(options.trace, none ? "no collective access with data is in this trace; ranks exchange nothing, so where they sit does not matter to the I/O"
                                   : "on these nodes the library would exchange nothing between ranks, so where they sit does not matter to the I/O "
                                     "(--use neighbours goes by their order in the file)");
}

Result<Task> task_of(const PlaceOptions& options) {
  Task task;
  if (!options.matrix_file.empty()) {
    MERCUTIO_LET(const std::string text, text_of(options.matrix_file));
    auto volume = place::parse_volume(text);
    if (!volume) return about(options.matrix_file, volume.error().what);
    task.volume = std::move(*volume);
  } else {
    auto run = place::recorded_run(options.trace);
    if (!run) return about(options.trace, no_trace(options.trace, run.error().what));
    task.run = std::move(*run);
  }
  task.problem.volume = &task.volume;
  MERCUTIO_TRY(take_nodes(options, task));
  choose_start(task);
  MERCUTIO_TRY(take_costs(options, task));
  MERCUTIO_TRY(take_topology(options, task));
  MERCUTIO_TRY(take_volume(options, task));
  return task;
}

void print_attempts(const Task& task, const std::vector<Attempt>& all, const Attempt& best) {
  std::printf("%lld ranks on %zu node%s\n", static_cast<long long>(ranks_of(task)), task.nodes.size(), task.nodes.size() == 1 ? "" : "s");
  std::printf("  %-28s %14s %9s\n", "", "cost", "seconds");
  for (const Attempt& one : all) {
    const std::string name = one.method == "start" ? "start, " + task.start_name : one.method;
    std::printf("  %-28s %14.6g %9.2f%s\n", name.c_str(), one.cost, one.seconds, &one == &best ? "  <" : "");
  }
  i64 moved = 0;
  for (std::size_t rank = 0; rank < best.mapping.size(); ++rank) moved += best.mapping[rank] != task.start[rank] ? 1 : 0;
  std::printf("cost before %.6g, after %.6g; %lld of %lld ranks sit on another node\n", all.front().cost, best.cost, static_cast<long long>(moved),
              static_cast<long long>(ranks_of(task)));
}

// What is taken: the cheapest, if the library's plans would send less between nodes with it than at the start.
struct Choice {
  const Attempt& taken;
  place::Exchanged before, cheapest;   // of a run: what its collective accesses exchange
};

Choice choose(const Task& task, const std::vector<Attempt>& all) {
  const Attempt& cheapest = place::cheapest(all);
  if (!task.run) return Choice{cheapest, {}, {}};
  const place::Exchanged before = place::planned(*task.run, task.start), after = place::planned(*task.run, cheapest.mapping);
  return Choice{after.between_nodes < before.between_nodes ? cheapest : all.front(), before, after};
}

void print_exchanged(const Task& task, const Choice& choice, const Attempt& cheapest) {
  if (!task.run) return;
  const bool stay = &choice.taken != &cheapest;
  const std::string before = bytes_text(choice.before.between_nodes), other = bytes_text(choice.cheapest.between_nodes);
  std::printf("of %s that collective accesses exchange, between nodes: before %s, after %s\n", bytes_text(choice.before.bytes).c_str(), before.c_str(),
              stay ? before.c_str() : other.c_str());
  if (stay)
    std::printf("ranks stay where they were: the plans that the library would make with ranks as by %s send %s between nodes\n", cheapest.method.c_str(), other.c_str());
}

bool write_text(const std::string& path, const std::string& text) {
  if (path.empty()) return true;
  std::ofstream output(path, std::ios::trunc);
  output << text;
  output.close();
  if (!output) std::fprintf(stderr, "mercutio place: %s: %s\n", path.c_str(), std::strerror(errno ? errno : EIO));
  return output || discard(path);
}

int write_files(const PlaceOptions& options, const Task& task, const Mapping& mapping) {
  const std::vector<i64> cores = place::cores_of(task.volume, mapping, task.domains);
  std::vector<Seat> seats;
  for (std::size_t rank = 0; rank < mapping.size(); ++rank) {
    seats.push_back(Seat{task.nodes[static_cast<std::size_t>(mapping[rank])].name, cores[rank]});
  }
  const bool good = write_text(options.rankfile, place::open_mpi_rankfile(seats)) && write_text(options.hydra_file, place::machine_file(seats)) &&
                    write_text(options.slurm_file, place::slurm_host_file(seats));
  if (!good) return 1;
  const auto ranks = static_cast<long long>(mapping.size());
  if (!options.rankfile.empty()) std::printf("Open MPI:          mpirun -n %lld --rankfile %s ...\n", ranks, options.rankfile.c_str());
  if (!options.hydra_file.empty()) {
    std::printf("MPICH, Intel MPI:  mpiexec -n %lld -machinefile %s ...\n", ranks, options.hydra_file.c_str());
    if (place::returns_to_a_host(seats))
      std::printf("                   (MPICH takes a host that comes again in it for another node: those ranks then don't share memory;\n"
                  "                   under Slurm, srun has no such limit)\n");
  }
  if (!options.slurm_file.empty())
    std::printf("Slurm:             SLURM_HOSTFILE=%s srun -n %lld --distribution=arbitrary ...\n", options.slurm_file.c_str(), ranks);
  return 0;
}

// An output that is one of the inputs; empty: none is.
std::string why_overwritten(const PlaceOptions& options) {
  const std::string* const inputs[] = {&options.trace, &options.matrix_file, &options.hosts_file, &options.machine_file, &options.costs_file, &options.topology};
  for (const std::string* out : {&options.rankfile, &options.hydra_file, &options.slurm_file, &options.matrix_output})
    for (const std::string* in : inputs)
      if (is_same_file(*out, *in)) return *out + " is read, and is not overwritten";
  return "";
}

}  // namespace

int place_ranks(const PlaceOptions& options) {
  if (options.trace.empty() == options.matrix_file.empty()) {
    std::fprintf(stderr, "mercutio place: give a trace (mercutio run --trace=FILE -- mpirun ...) or --matrix FILE, one of them\n");
    return 2;
  }
  if (const std::string why = why_overwritten(options); !why.empty()) {
    std::fprintf(stderr, "mercutio place: %s\n", why.c_str());
    return 2;
  }
  Result<Task> made = task_of(options);
  if (!made) {
    std::fprintf(stderr, "mercutio place: %s\n", made.error().what.c_str());
    return 1;
  }
  Task& task = *made;
  task.problem.volume = &task.volume;   // it has moved
  if (options.search.method == "scotch" && find_on_path("scotch_gmap").empty() && find_on_path("gmap").empty()) {
    std::fprintf(stderr, "mercutio place: Scotch's gmap was not found (Debian: scotch)\n");
    return 1;
  }
  if (!write_text(options.matrix_output, place::volume_text(task.volume))) return 1;
  const std::vector<Attempt> all = place::attempts(task.problem, task.start, options.search);
  const Choice choice = choose(task, all);
  print_attempts(task, all, choice.taken);
  print_exchanged(task, choice, place::cheapest(all));
  return write_files(options, task, choice.taken.mapping);
}

}  // namespace mercutio::tool
