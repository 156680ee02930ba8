// What a collective access costs at any number of ranks: the unchanged engine on simulated ranks of one process, whose messages are counted.
//   scale [--ranks P] [--per-node N] [--bytes B] [--block K] [--accesses A] [--exchange E] [--read 1]
// Each of P ranks, N to a node, writes or reads B bytes collectively A times, each time behind the time before: as blocks of K bytes that
// interleave with those of the others, or as one run where K is 0 (then no data is exchanged). A line of JSON for each access: messages between
// nodes and their bytes, into the node that receives most and into all; bytes of run lists among them; CPU time of a rank, that of the
// simulation included.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "comm/simulated.h"
#include "counting_comm.h"
#include "engine/engine.h"
#include "engine/node_entry.h"
#include "engine/test_support.h"

namespace mercutio::scale {
namespace {

using namespace mercutio::testing;

struct Options {
  i64 ranks = 64, per_node = 4, bytes = 65536, block = 1024, accesses = 3;
  bool read = false;
  WantedExchange exchange = WantedExchange::kAuto;
};

Options options_from(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const i64 value = std::atoll(argv[i + 1]);
    if (name == "--ranks") options.ranks = value;
    if (name == "--per-node") options.per_node = value;
    if (name == "--bytes") options.bytes = value;
    if (name == "--block") options.block = value;
    if (name == "--accesses") options.accesses = value;
    if (name == "--read") options.read = value != 0;
    if (name == "--exchange") options.exchange = choice_named<WantedExchange>(argv[i + 1]).value_or(WantedExchange::kAuto);
  }
  return options;
}

Topology topology_of(const Options& options) {
  Topology topology;
  for (i64 rank = 0; rank < options.ranks; ++rank) topology.node_of_rank.push_back(rank / options.per_node);
  for (i64 node = 0; node <= topology.node_of_rank.back(); ++node) topology.node_names.push_back("n" + std::to_string(node));
  return topology;
}

struct Rank {
  std::unique_ptr<Comm> comm;
  std::unique_ptr<Storage> storage;
  std::shared_ptr<NodeArena> arena;
  RunListCaches run_lists;
  PatternMemory patterns;
  PlanCache plans;
  DensePatterns dense;
  Counters counters;
  EngineFile file;
  ViewRef view;
  std::vector<std::byte> data;
};

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Job {
 public:
  explicit Job(const Options& options)
      : options_(options), simulation_(options.ranks, simulation_options(), topology_of(options)), traffic_(topology_of(options)) {
    hints_.mercutio_exchange = options.exchange;
    file_.bytes.resize(static_cast<size_t>(options.ranks * options.bytes * options.accesses));
    const bool whole = options.block == 0;
    const i64 block = whole ? options.bytes : options.block;
    const auto tile = make_resized(0, block * options.ranks, make_contiguous(block, byte_type()));
    for (i64 r = 0; r < options.ranks; ++r) {
      auto rank = std::make_unique<Rank>();
      rank->comm = std::make_unique<CountingComm>(simulation_.comm(r), traffic_);
      rank->storage = std::make_unique<TestStorage>(file_);
      rank->arena = NodeArena::of(*rank->comm);
      if (!rank->arena) rank->arena = NodeArena::make_private(*rank->comm).value();
      rank->view = make_view(block * r, tile);
      rank->data.assign(static_cast<size_t>(options.bytes), static_cast<std::byte>(r));
      EngineFile& file = rank->file;
      file.storage = rank->storage.get();
      file.comm = rank->comm.get();
      file.hints = &hints_;
      file.plans = &rank->plans;
      file.dense = &rank->dense;
      file.patterns = &rank->patterns;
      file.hints_edition = 1;
      file.run_lists = &rank->run_lists;
      file.counters = &rank->counters;
      ranks_.push_back(std::move(rank));
    }
  }

  // False: some rank failed, or nobody could go on.
  bool access(i64 number) {
    traffic_.clear();
    const double before = cpu_seconds();
    std::vector<std::unique_ptr<Task<Result<i64>>>> tasks;
    std::vector<std::function<bool()>> steps;
    bool good = true;
    for (i64 r = 0; r < options_.ranks; ++r) {
      Rank& rank = *ranks_[static_cast<size_t>(r)];
      rank.counters = Counters{};
      Access access;
      access.direction = options_.read ? Direction::kRead : Direction::kWrite;
      access.view = rank.view;
      access.position = number * options_.bytes;
      access.bytes = options_.bytes;
      access.memory = Memory{rank.data.data(), lowered(make_contiguous(options_.bytes, byte_type())), 1};
      const Channel channel{rank.comm.get(), number * kTagsPerOperation, std::make_shared<Ticket>(rank.arena)};
      tasks.push_back(std::make_unique<Task<Result<i64>>>(collective(rank.file, channel, access, {})));
      steps.push_back([task = tasks.back().get(), &good, this] {
        if (!task->step()) return false;
        good = good && *task->take() == options_.bytes;
        return true;
      });
    }
    good = simulation_.run(std::move(steps)) == Simulation::End::kDone && good;
    const Traffic most = traffic_.most(), all = traffic_.all();
    i64 metadata = 0;
    for (const auto& rank : ranks_) metadata += rank->counters.metadata_bytes;
    const double cpu = (cpu_seconds() - before) / static_cast<double>(options_.ranks);
    std::printf("{\"access\": %lld, \"node_messages\": %lld, \"node_bytes\": %lld, \"messages\": %lld, \"bytes\": %lld, \"run_list_bytes\": %lld, \"cpu_us\": %.0f}\n",
                static_cast<long long>(number + 1), static_cast<long long>(most.messages), static_cast<long long>(most.bytes),
                static_cast<long long>(all.messages), static_cast<long long>(all.bytes), static_cast<long long>(metadata), 1e6 * cpu);
    return good;
  }

 private:
  static SimulationOptions simulation_options() {
    SimulationOptions options;
    options.shared_memory = true;
    options.longest_delay = 0;
    options.most_steps = i64{1} << 40;
    return options;
  }

  const Options options_;
  Hints hints_;
  SharedFile file_;
  Simulation simulation_;
  NodeTraffic traffic_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace
}  // namespace mercutio::scale

int main(int argc, char** argv) {
  using namespace mercutio::scale;
  const Options options = options_from(argc, argv);
  Job job(options);
  for (mercutio::i64 number = 0; number < options.accesses; ++number) {
    if (!job.access(number)) return 1;
  }
  return 0;
}
