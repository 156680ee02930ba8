// What a collective access costs at any number of ranks: the unchanged engine on a cluster in virtual time (virtual_cluster.h).
//   scale --ranks P --per-node N --bytes B --block K --accesses A [--read 1] [--exchange E] [options of the cluster and of its storage]
// Each of P ranks, N to a node, writes or reads B bytes collectively A times, each time behind the time before: as blocks of K bytes that
// interleave with those of the others, as cells of K bytes in random order over all ranks (--cells 1), or as one run where K is 0. A line of JSON
// for each access: its time; messages between nodes and their bytes, into the node that receives most and into all; what the ranks of a node do;
// what the storage does; processor time and memory of a rank. With --processor 0, the default, equal options give equal figures but for the memory.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <variant>

#include "engine/engine.h"
#include "engine/node_entry.h"
#include "engine/test_support.h"
#include "virtual_cluster.h"
#include "virtual_storage.h"

namespace mercutio::scale {
namespace {

using namespace mercutio::testing;

struct Options {
  i64 ranks = 64, per_node = 4, bytes = 64 * KiB, block = 1 * KiB, accesses = 3, buffer = 0, aggregators = 0;
  bool read = false, cells = false;
  WantedExchange exchange = WantedExchange::kAuto;
  ClusterModel cluster;
  StorageModel storage;
};

bool read_option(Options& options, const std::string& name, const char* value) {
  ClusterModel& cluster = options.cluster;
  StorageModel& storage = options.storage;
  const std::pair<const char*, std::variant<i64*, double*, bool*>> known[] = {
      {"--ranks", &options.ranks}, {"--per-node", &options.per_node}, {"--bytes", &options.bytes}, {"--block", &options.block},
      {"--accesses", &options.accesses}, {"--read", &options.read}, {"--cells", &options.cells}, {"--buffer", &options.buffer},
      {"--aggregators", &options.aggregators},
      {"--processor", &cluster.processor}, {"--cores", &cluster.cores}, {"--one-machine", &cluster.one_machine},
      {"--message-ns", &cluster.message_ns}, {"--copy-rate", &cluster.copy_bytes_per_s}, {"--latency-ns", &cluster.latency_ns},
      {"--link-rate", &cluster.link_bytes_per_s}, {"--nodes-of-switch", &cluster.nodes_of_switch}, {"--uplink-rate", &cluster.uplink_bytes_per_s},
      {"--node-rate", &cluster.node_bytes_per_s}, {"--eager-bytes", &cluster.eager_bytes}, {"--connect-ns", &cluster.connect_ns}, {"--wake-ns", &cluster.wake_ns},
      {"--servers", &storage.servers}, {"--memory-rate", &storage.memory_bytes_per_s}, {"--call-ns", &storage.call_ns},
      {"--server-rate", &storage.server_bytes_per_s}, {"--stripe", &storage.stripe_bytes}, {"--round-trip-ns", &storage.round_trip_ns},
      {"--request-ns", &storage.request_ns}, {"--revoke-ns", &storage.revoke_ns}};
  if (name == "--exchange") {
    const auto choice = choice_named<WantedExchange>(value);
    if (choice) options.exchange = *choice;
    return choice.has_value();
  }
  for (const auto& [word, target] : known) {
    if (name != word) continue;
    if (i64* const* number = std::get_if<i64*>(&target)) **number = std::atoll(value);
    if (double* const* number = std::get_if<double*>(&target)) **number = std::atof(value);
    if (bool* const* flag = std::get_if<bool*>(&target)) **flag = std::atoi(value) != 0;
    return true;
  }
  return false;
}

Topology topology_of(const Options& options) {
  Topology topology;
  for (i64 rank = 0; rank < options.ranks; ++rank) topology.node_of_rank.push_back(rank / options.per_node);
  for (i64 node = 0; node <= topology.node_of_rank.back(); ++node) topology.node_names.push_back("n" + std::to_string(node));
  return topology;
}

// Memory of this process that is in use.
i64 resident_bytes() {
  long long pages = 0, resident = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (!file) return 0;
  const int fields = std::fscanf(file, "%lld %lld", &pages, &resident);
  std::fclose(file);
  return fields == 2 ? resident * ::sysconf(_SC_PAGESIZE) : 0;
}

struct Rank {
  std::unique_ptr<Storage> storage;
  std::shared_ptr<NodeArena> arena;
  RunListCaches run_lists;
  PatternMemory patterns;
  PlanCache plans;
  Counters counters;
  IndependentAccesses accesses;
  IndependentAccesses::Watch watch{accesses};
  EngineFile file;
  ViewRef view;
  std::vector<std::byte> data;
};

class Job {
 public:
  explicit Job(const Options& options)
      : options_(options), cluster_(options.cluster, topology_of(options)), servers_(cluster_, options.storage) {
    hints_.mercutio_exchange = options.exchange;
    if (options.buffer > 0) hints_.cb_buffer_size = options.buffer;
    if (options.aggregators > 0) hints_.cb_nodes = options.aggregators;
    const std::vector<Numbers> places = options.cells ? random_places() : std::vector<Numbers>();
    for (i64 r = 0; r < options.ranks; ++r) {
      auto rank = std::make_unique<Rank>();
      Comm& comm = cluster_.comm(r);
      rank->storage = std::make_unique<VirtualStorage>(servers_, options.ranks * options.bytes * options.accesses);
      rank->arena = NodeArena::of(comm);
      if (!rank->arena) rank->arena = NodeArena::make_private(comm).value();
      rank->view = options.cells ? view_of_cells(places[static_cast<size_t>(r)]) : view_of_blocks(r);
      rank->data.assign(static_cast<size_t>(options.bytes), static_cast<std::byte>(r));
      EngineFile& file = rank->file;
      file.storage = rank->storage.get();
      file.comm = &comm;
      file.hints = &hints_;
      file.plans = &rank->plans;
      file.patterns = &rank->patterns;
      file.hints_edition = 1;
      file.run_lists = &rank->run_lists;
      file.counters = &rank->counters;
      file.independent_accesses = &rank->watch;
      ranks_.push_back(std::move(rank));
    }
    at_first_bytes_ = resident_bytes();
  }

  // False: some rank failed, or nobody could go on.
  bool access(i64 number) {
    cluster_.clear_counts();
    servers_.clear_counts();
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
      const Channel channel{rank.file.comm, number * kTagsPerOperation, std::make_shared<Ticket>(*rank.arena)};
      tasks.push_back(std::make_unique<Task<Result<i64>>>(collective(rank.file, channel, access, {})));
      steps.push_back([task = tasks.back().get(), &good, this] {
        if (!task->step()) return false;
        const Result<i64> moved = task->take();
        good = good && moved.ok() && *moved == options_.bytes;
        return true;
      });
    }
    good = cluster_.run(std::move(steps)) && good;
    print(number);
    return good;
  }

 private:
  ViewRef view_of_blocks(i64 rank) const {
    const i64 block = options_.block == 0 ? options_.bytes : options_.block;
    return make_view(block * rank, make_resized(0, block * options_.ranks, make_contiguous(block, byte_type())));
  }
  // Where the cells of each rank are: a random permutation.
  std::vector<Numbers> random_places() const {
    std::vector<i64> owners(static_cast<size_t>(options_.ranks * (options_.bytes / options_.block)));
    for (size_t i = 0; i < owners.size(); ++i) owners[i] = static_cast<i64>(i) % options_.ranks;
    std::mt19937_64 random(1);
    for (size_t i = owners.size(); i > 1; --i) std::swap(owners[i - 1], owners[random() % i]);
    std::vector<Numbers> places(static_cast<size_t>(options_.ranks));
    for (size_t i = 0; i < owners.size(); ++i) places[static_cast<size_t>(owners[i])].push_back(static_cast<i64>(i) * options_.block);
    return places;
  }
  ViewRef view_of_cells(const Numbers& places) const {
    return make_view(0, make_resized(0, options_.ranks * options_.bytes, make_hindexed_block(options_.block, narrowed(places), byte_type())));
  }

  void print(i64 number) const {
    const ClusterCounts& counts = cluster_.counts();
    Traffic most, all;
    for (const Traffic& node : counts.into_node) {
      most = {std::max(most.messages, node.messages), std::max(most.bytes, node.bytes)};
      all = {all.messages + node.messages, all.bytes + node.bytes};
    }
    const std::vector<i64>& cpu = counts.processor_ns;
    i64 metadata = 0;
    for (const auto& rank : ranks_) metadata += rank->counters.metadata_bytes;
    const auto of_rank = [&](i64 value) { return static_cast<double>(value) / static_cast<double>(options_.ranks); };
    std::printf("{\"access\": %lld, \"virtual_us\": %.3f, \"node_messages\": %lld, \"node_bytes\": %lld, \"messages\": %lld, \"bytes\": %lld, "
                "\"run_list_bytes\": %lld, \"wakes_a_rank\": %.2f, \"steps_a_rank\": %.2f, \"unasked_steps\": %lld, \"storage_calls\": %lld, "
                "\"server_requests\": %lld, \"revocations\": %lld, \"cpu_us\": %.1f, \"busiest_cpu_us\": %.1f, \"memory_a_rank\": %.0f}\n",
                static_cast<long long>(number + 1), 1e-3 * static_cast<double>(cluster_.elapsed_ns()), static_cast<long long>(most.messages),
                static_cast<long long>(most.bytes), static_cast<long long>(all.messages), static_cast<long long>(all.bytes),
                static_cast<long long>(metadata), of_rank(counts.wakes), of_rank(counts.steps), static_cast<long long>(counts.unasked_steps),
                static_cast<long long>(servers_.counts().calls), static_cast<long long>(servers_.counts().requests),
                static_cast<long long>(servers_.counts().revocations), 1e-3 * of_rank(std::accumulate(cpu.begin(), cpu.end(), i64{0})), 1e-3 * static_cast<double>(*std::max_element(cpu.begin(), cpu.end())),
                of_rank(resident_bytes() - at_first_bytes_));
  }

  const Options options_;
  Hints hints_;
  VirtualCluster cluster_;
  VirtualServers servers_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  i64 at_first_bytes_ = 0;
};

}  // namespace
}  // namespace mercutio::scale

int main(int argc, char** argv) {
  using namespace mercutio::scale;
  Options options;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 < argc && read_option(options, argv[i], argv[i + 1])) continue;
    std::fprintf(stderr, "scale: unknown option, or no value: %s\n", argv[i]);
    return 2;
  }
  if (options.ranks < 1 || options.per_node < 1 || options.bytes < 1 || options.accesses < 1 || options.block < 0 || options.bytes % std::max<mercutio::i64>(1, options.block) != 0) {
    std::fprintf(stderr, "scale: ranks, ranks of a node, bytes and accesses are at least 1, and bytes a multiple of the block\n");
    return 2;
  }
  Job job(options);
  for (mercutio::i64 number = 0; number < options.accesses; ++number) {
    if (!job.access(number)) return 1;
  }
  return 0;
}
