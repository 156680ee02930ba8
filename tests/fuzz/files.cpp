// The text files of people (src/model/keyed_lines.*, machine_file.*, pattern_file.*, hints_measured.*): any text is an error
// that names its line, or a machine and a pattern on which planning works as on real ones.
// Input: the machine, a line "---", the pattern.
#include <set>


#include "model/hints_measured.h"
#include "model/keyed_lines.h"
#include "model/machine_file.h"
#include "model/pattern_file.h"
#include "plan_check.h"

namespace mercutio::fuzz {
namespace {

constexpr i64 kMostRanks = 512;   // larger machines are left out: they take time, and show nothing more

std::string number(Random& random) {
  static const char* const kNumbers[] = {"0", "1", "2", "3", "4", "8", "100", "4k", "1MiB", "64", "7", "9223372036854775807", "1T"};
  return kNumbers[pick(random, 0, pick(random, 0, 5) ? 10 : 12)];
}

std::string lines_of(Random& random, std::initializer_list<const char*> keys) {
  std::string text;
  for (i64 i = pick(random, 0, 6); i > 0; --i) {
    text += *(keys.begin() + pick(random, 0, static_cast<i64>(keys.size()) - 1));
    for (i64 n = pick(random, 0, 3) ? 1 : pick(random, 0, 4); n > 0; --n) text += " " + number(random);
    text += "\n";
  }
  return text;
}

// All that asks for ranks, before anything is made of it.
bool too_large(const std::string& machine) {
  i64 nodes = 1, ranks = 1;
  for (const KeyedLine& line : keyed_lines(machine)) {
    if (line.key != "nodes" && line.key != "ranks_per_node") continue;
    i64& most = line.key == "nodes" ? nodes : ranks;
    for (std::size_t word = 0; word < line.words.size(); ++word) {
      const Result<i64> value = line.size(word);
      if (value) most = std::max(most, *value);
    }
  }
  return (nodes > kMostRanks || ranks > kMostRanks || nodes * ranks > kMostRanks) && nodes <= 1 << 24 && ranks <= 1 << 24;
}

void check_error(const Error& error) {
  FUZZ_CHECK(error.cls == ErrorClass::kArg || error.cls == ErrorClass::kCount, error.what);
  FUZZ_CHECK(!error.what.empty(), "an error without a word");
}

void check_machine(const Machine& machine) {
  const Topology& topology = machine.topology;
  FUZZ_CHECK(topology.ranks() >= 1 && topology.nodes() >= 1, "a machine of nothing");
  std::set<i64> used;
  for (const i64 node : topology.node_of_rank) {
    FUZZ_CHECK(node >= 0 && node < topology.nodes(), "a rank on a node that isn't there");
    used.insert(node);
  }
  FUZZ_CHECK(static_cast<i64>(used.size()) == topology.nodes(), "a node without a rank");
  FUZZ_CHECK(topology.numa_of_rank.empty() || static_cast<i64>(topology.numa_of_rank.size()) == topology.ranks(), "domains of other ranks");
  for (const i64 domain : topology.numa_of_rank) FUZZ_CHECK(domain >= 0, "a domain below 0");
  FUZZ_CHECK(topology.segment_bytes >= 0 && (topology.segment_bytes == 0 || topology.ranks() > topology.nodes()), "memory shared by nobody");
}

void check_pattern(const PatternFile& file, i64 ranks) {
  FUZZ_CHECK(static_cast<i64>(file.ranks.size()) == ranks, "a pattern of other ranks");
  for (const RankSummary& rank : file.ranks) {
    FUZZ_CHECK(rank.bytes >= 0 && rank.first >= 0, "below 0");
    FUZZ_CHECK(rank.bytes == 0 || rank.last > rank.first, "data in no range");
  }
}

void check_measured(const std::string& text) {
  const InfoItems items = {{"mercutio_saturation_bytes", "1048576"}};
  const std::string once = with_section(text, "/a/b", items);
  FUZZ_CHECK(once.ends_with("[/a/b]\nmercutio_saturation_bytes 1048576\n"), once);
  FUZZ_CHECK(with_section(once, "/a/b", items) == once, once);
}

}  // namespace

Input example(Random& random) {
  static const char* const kShapes[] = {"contiguous", "interleaved", "blocks"};
  std::string text = "nodes " + std::to_string(pick(random, 1, 4)) + "\nranks_per_node " + std::to_string(pick(random, 1, 4)) + "\n";
  text += lines_of(random, {"numa_per_node", "link_mb_per_s", "memory_mb_per_s", "stripe_bytes", "servers", "first_server", "server_mb_per_s",
                            "cartesian", "map", "map cyclic #", "shared_memory no #", "node_names a b #", "ranks_per_node"});
  text += "---\nshape " + std::string(kShapes[pick(random, 0, 2)]) + "\n";
  if (pick(random, 0, 1)) text += "grid 2 2\narray 100 7\nelement 8\n";
  text += lines_of(random, {"origin", "block", "count", "gap", "element", "halo", "grid", "array", "idle", "access read #", "atomic #",
                            "rank 0 bytes 7 first 0 last 9 run", "rank 1 bytes 100 first 64 last"});
  return input_of(text);
}

}  // namespace mercutio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mercutio;
  using namespace mercutio::fuzz;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = text.find("---\n");
  const std::string machine_text = text.substr(0, cut), pattern_text = cut == std::string::npos ? "" : text.substr(cut + 4);
  check_measured(text);
  if (too_large(machine_text)) return 0;
  const Result<Machine> machine = parse_machine(machine_text);
  if (!machine) return check_error(machine.error()), 0;
  check_machine(*machine);
  const Result<PatternFile> file = parse_pattern(pattern_text, machine->topology.ranks());
  if (!file) return check_error(file.error()), 0;
  check_pattern(*file, machine->topology.ranks());
  const Pattern pattern = file->pattern();
  Taker taker(std::as_bytes(std::span(data, size)));
  for (const Toggle wanted : {Toggle::kAutomatic, Toggle::kEnable}) {
    Hints hints;
    hints.romio_cb_read = hints.romio_cb_write = wanted;
    const Plan plan = make_plan(pattern, hints, machine->topology, machine->layout);
    check_plan(plan, pattern, file->ranks, taker);
    FUZZ_CHECK(!plan.exchanges() || !explain_ranks(plan, machine->topology, machine->layout).empty(), "no explanation of the ranks");
  }
  return 0;
}
