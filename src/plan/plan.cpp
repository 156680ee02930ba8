// The passes. Sources: the choice between individual and two-phase access follows the interleaving test of Thakur, Gropp
// and Lusk (1999), but from numbers that every rank has; domain borders on lock or stripe units follow Liao and Choudhary
// (2008). O(ranks) once per plan for placement, O(1) for the rest.
#include "plan/plan.h"

#include <algorithm>
#include <set>

namespace mercutio {
namespace {

constexpr i64 kAggregatorsPerNode = 4;
constexpr i64 kAggregatorWorthBytes = 1 * MiB;   // an aggregator more must have at least this much to do
constexpr i64 kStagingBytes = 4 * MiB;           // what all lanes of one side may hold
constexpr i64 kLowestChunkBytes = 16 * KiB;
constexpr i64 kHighestChunkBytes = 1 * MiB;
constexpr i64 kPageBytes = 4096;
constexpr i64 kSharedWindowBytes = 1 * MiB;      // stays in a cache between the copy into it and the copy out of it
constexpr i64 kSharedDepth = 2;

i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }
i64 align_down(i64 value, i64 unit) { return value / unit * unit; }
i64 align_up(i64 value, i64 unit) { return ceil_div(value, unit) * unit; }

class Planner {
 public:
  Planner(const Pattern& p, const Hints& h, const Topology& t, const Layout& l) : pattern(p), hints(h), topology(t), layout(l) {}

  void run(const char* name, std::string (*pass)(Planner&)) { plan.reasons.push_back(Reason{name, pass(*this)}); }
  Plan finish() && {
    if (!verify(plan, pattern).ok()) {   // a plan that does not hold is never carried out: the plain way always works
      plan = Plan{};
      plan.reasons = {Reason{"strategy", "individual: the plan made did not pass verification"}};
    }
    return std::move(plan);
  }

  const Pattern& pattern;
  const Hints& hints;
  const Topology& topology;
  const Layout& layout;
  Plan plan;
};

std::string choose_strategy(Planner& p) {
  const Pattern& pattern = p.pattern;
  const bool reading = pattern.direction == Direction::kRead;
  const Toggle wish = reading ? p.hints.romio_cb_read : p.hints.romio_cb_write;
  const std::string hint = reading ? "romio_cb_read" : "romio_cb_write";
  p.plan.strategy = Strategy::kIndividual;
  if (pattern.bytes == 0) return "no rank has data";
  if (pattern.atomic) return "atomic mode: each access is one step under a lock of its own range";
  if (wish == Toggle::kDisable) return hint + "=disable";
  if (pattern.ranks == 1 && wish != Toggle::kEnable) return "one rank only";
  const bool plain = pattern.disjoint && pattern.contiguous == pattern.participants;
  if (plain && wish != Toggle::kEnable) return "every rank's data is one run and the runs are disjoint";
  p.plan.strategy = Strategy::kTwoPhase;
  if (wish == Toggle::kEnable) return hint + "=enable";
  if (!pattern.disjoint) return "the ranks' ranges interleave";
  return "some rank's data is scattered";
}

std::string place_aggregators(Planner& p) {
  if (p.plan.strategy != Strategy::kTwoPhase) return "none needed";
  const Topology& topology = p.topology;
  const i64 ranks = p.pattern.ranks, nodes = std::max<i64>(1, topology.nodes());
  i64 wanted = p.hints.cb_nodes;
  std::string why = "cb_nodes=" + std::to_string(wanted);
  if (wanted <= 0) {
    const i64 worth = ceil_div(p.pattern.bytes, kAggregatorWorthBytes);
    wanted = std::min(most_aggregators(topology), worth);
    why = wanted == worth ? "one per MiB of data" : std::to_string(kAggregatorsPerNode) + " a node";
  }
  wanted = std::clamp<i64>(wanted, 1, ranks);
  // Round robin over the nodes: the first rank of every node, then the second, ...
  std::vector<std::vector<i64>> of_node(static_cast<size_t>(nodes));
  for (i64 rank = 0; rank < ranks; ++rank) {
    const i64 node = rank < topology.ranks() ? topology.node_of_rank[static_cast<size_t>(rank)] : 0;
    of_node[static_cast<size_t>(node)].push_back(rank);
  }
  for (size_t turn = 0; p.plan.domains() < wanted; ++turn) {
    for (size_t node = 0; node < of_node.size() && p.plan.domains() < wanted; ++node) {
      if (turn < of_node[node].size()) p.plan.aggregators.push_back(of_node[node][turn]);
    }
  }
  // Neighbouring domains on neighbouring ranks: data that already lies in rank order moves least.
  std::sort(p.plan.aggregators.begin(), p.plan.aggregators.end());
  return why + ", round robin over nodes";
}

std::string divide_file(Planner& p) {
  Plan& plan = p.plan;
  if (plan.strategy != Strategy::kTwoPhase) return "none needed";
  plan.begin = p.pattern.begin;
  plan.end = p.pattern.end;
  const i64 share = ceil_div(plan.end - plan.begin, plan.domains());
  plan.unit_bytes = p.layout.stripe_bytes > 0 ? p.layout.stripe_bytes : kPageBytes;
  if (share < plan.unit_bytes) {
    plan.unit_bytes = 1;
    plan.domain_map = DomainMap::kEven;
    plan.domain_origin = plan.begin;
    plan.domain_bytes = share;
    return "a share is smaller than a unit";
  }
  plan.domain_map = DomainMap::kAligned;
  plan.domain_origin = align_down(plan.begin, plan.unit_bytes);
  plan.domain_bytes = align_up(ceil_div(plan.end - plan.domain_origin, plan.domains()), plan.unit_bytes);
  return std::string("borders on ") + (p.layout.stripe_bytes > 0 ? "stripes" : "pages");
}

std::string schedule_rounds(Planner& p) {
  Plan& plan = p.plan;
  if (plan.strategy != Strategy::kTwoPhase) return "none needed";
  plan.buffer_bytes = std::max<i64>(1, p.hints.cb_buffer_size);
  if (plan.exchange == ExchangeKind::kSharedMemory) {
    plan.buffer_bytes = std::min(plan.buffer_bytes, kSharedWindowBytes);
    plan.depth = kSharedDepth;
  }
  if (plan.unit_bytes > 1 && plan.buffer_bytes > plan.unit_bytes) {
    plan.buffer_bytes = align_down(plan.buffer_bytes, plan.unit_bytes);
  }
  for (i64 i = 0; i < plan.domains(); ++i) plan.rounds = std::max(plan.rounds, plan.windows(i));
  return "cb_buffer_size=" + std::to_string(p.hints.cb_buffer_size);
}

std::string choose_exchange(Planner& p) {
  Plan& plan = p.plan;
  if (plan.strategy != Strategy::kTwoPhase) return "none needed";
  if (p.topology.segment_bytes > 0) {
    plan.exchange = ExchangeKind::kSharedMemory;
    return "all ranks share memory";
  }
  plan.chunk_bytes = std::clamp(kStagingBytes / std::max<i64>(1, p.pattern.ranks), kLowestChunkBytes, kHighestChunkBytes);
  plan.lanes = std::max<i64>(1, kStagingBytes / plan.chunk_bytes);
  return "staging of " + std::to_string(kStagingBytes / MiB) + " MiB a side";
}

const char* name_of(Strategy s) { return s == Strategy::kIndividual ? "individual" : "two_phase"; }
const char* name_of(DomainMap m) { return m == DomainMap::kEven ? "even" : "aligned"; }

}  // namespace

FileRange Plan::domain(i64 i) const {
  FileRange range{std::max(begin, domain_origin + i * domain_bytes), std::min(end, domain_origin + (i + 1) * domain_bytes)};
  return range.empty() ? FileRange{end, end} : range;
}

// Windows are cut at multiples of buffer_bytes from the domain's unclipped start, so they stay on unit borders. Those that
// lie before the first byte of the pattern are left out: with a buffer smaller than a unit there may be many.
i64 Plan::first_window(i64 i) const {
  const i64 start = domain_origin + i * domain_bytes;
  return start + std::max<i64>(0, domain(i).begin - start) / buffer_bytes * buffer_bytes;
}

i64 Plan::windows(i64 i) const {
  const FileRange range = domain(i);
  if (range.empty()) return 0;
  return ceil_div(range.end - first_window(i), buffer_bytes);
}

FileRange Plan::window(i64 i, i64 round) const {
  const FileRange range = domain(i);
  const i64 start = first_window(i) + round * buffer_bytes;
  FileRange window{std::max(range.begin, start), std::min(range.end, start + buffer_bytes)};
  return window.empty() ? FileRange{range.end, range.end} : window;
}

i64 most_aggregators(const Topology& topology) { return std::max<i64>(1, topology.nodes()) * kAggregatorsPerNode; }

Plan make_plan(const Pattern& pattern, const Hints& hints, const Topology& topology, const Layout& layout) {
  Planner p(pattern, hints, topology, layout);
  p.run("strategy", choose_strategy);
  p.run("placement", place_aggregators);
  p.run("domains", divide_file);
  p.run("exchange", choose_exchange);
  p.run("rounds", schedule_rounds);
  return std::move(p).finish();
}

Status verify(const Plan& plan, const Pattern& pattern) {
  auto broken = [](const char* rule) { return Error{ErrorClass::kIntern, std::string("plan: ") + rule}; };
  if (plan.strategy == Strategy::kIndividual) {
    if (!plan.aggregators.empty()) return broken("individual access has no aggregators");
    return ok_status();
  }
  if (pattern.atomic) return broken("atomic accesses are individual");
  if (plan.aggregators.empty()) return broken("two-phase access needs an aggregator");
  std::set<i64> distinct(plan.aggregators.begin(), plan.aggregators.end());
  if (distinct.size() != plan.aggregators.size()) return broken("an aggregator owns two domains");
  if (*distinct.begin() < 0 || *distinct.rbegin() >= pattern.ranks) return broken("an aggregator is not a rank");
  if (plan.buffer_bytes < 1 || plan.depth < 1) return broken("a size is below 1");
  if (plan.exchange == ExchangeKind::kMessages && (plan.chunk_bytes < 1 || plan.lanes < 1)) return broken("messages have no size or number");
  i64 covered = pattern.begin;
  for (i64 i = 0; i < plan.domains(); ++i) {
    const FileRange range = plan.domain(i);
    if (range.empty()) continue;
    if (range.begin != covered) return broken("domains leave a gap or overlap");
    covered = range.end;
    if (plan.windows(i) > plan.rounds) return broken("too few rounds");
  }
  if (covered != pattern.end) return broken("domains do not reach the end");
  return ok_status();
}

std::string explain(const Plan& plan, const Pattern& pattern) {
  auto reason = [&](const char* pass) {
    for (const Reason& r : plan.reasons) {
      if (r.pass == pass) return "   # " + r.text + "\n";
    }
    return std::string("\n");
  };
  auto number = [](i64 value) { return std::to_string(value); };
  std::string out = std::string(pattern.direction == Direction::kRead ? "read" : "write") + ": " + number(pattern.bytes) +
                    " bytes in [" + number(pattern.begin) + ", " + number(pattern.end) + ") by " +
                    number(pattern.participants) + " of " + number(pattern.ranks) + " ranks, " + number(pattern.contiguous) +
                    " contiguous, " + (pattern.disjoint ? "disjoint" : "interleaved") + (pattern.atomic ? ", atomic" : "") + "\n";
  out += std::string("strategy:  ") + name_of(plan.strategy) + reason("strategy");
  if (plan.strategy == Strategy::kIndividual) return out;
  out += "placement:";
  for (i64 rank : plan.aggregators) out += " " + number(rank);
  out += reason("placement");
  out += std::string("domains:   ") + name_of(plan.domain_map) + ", " + number(plan.domain_bytes) + " bytes from " +
         number(plan.domain_origin) + ", unit " + number(plan.unit_bytes) + reason("domains");
  out += plan.exchange == ExchangeKind::kSharedMemory
             ? std::string("exchange:  shared memory")
             : "exchange:  messages, chunks of " + number(plan.chunk_bytes) + " bytes, " + number(plan.lanes) + " lanes";
  out += reason("exchange");
  out += "rounds:    " + number(plan.rounds) + " of " + number(plan.buffer_bytes) + " bytes, depth " + number(plan.depth) + reason("rounds");
  return out;
}

}  // namespace mercutio
