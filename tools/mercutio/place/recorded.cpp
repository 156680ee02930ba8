#include "place/recorded.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>

#include "insight/piece_merge.h"
#include "plan/plan.h"
#include "trace_file.h"

namespace mercutio::place {
namespace {

constexpr i64 kSharedBytes = 20 * MiB;   // of a rank, as the library shares them
constexpr i64 kMostParts = 256;          // of a run, when it is divided among aggregators

// "OPEN TAG ...": which open and which access of it; the sketch behind.
using AccessKey = std::pair<i64, i64>;

Hints hints_of(const JobFile& file) {
  HintSet set;
  for (const TraceText& text : file.texts) {
    if (text.kind != TextKind::kHints) continue;
    InfoItems items;
    std::istringstream lines(text.text);
    for (std::string line; std::getline(lines, line);) {
      if (const std::size_t equals = line.find('='); equals != std::string::npos) items.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    }
    apply_hints(set, items, HintSource::kInfo, HintTime::kOpen);
  }
  return set.values;
}

Status take_sketches(const Job& job, std::size_t member, RecordedFile& file, std::map<AccessKey, std::vector<AccessSketch>>& found) {
  const RankTrace& trace = job.traces[static_cast<std::size_t>(file.members[member])];
  for (const TraceText& text : trace.texts) {
    if (text.kind != TextKind::kSketch || text.file < 0 || text.file >= static_cast<i64>(trace.files.size())) continue;
    const auto& name = trace.files[static_cast<std::size_t>(text.file)].name;
    if (std::string(name.data(), strnlen(name.data(), name.size())) != file.name) continue;
    const std::size_t blank = text.text.find(' ');
    MERCUTIO_LET(AccessSketch sketch, parse_sketch(blank == std::string::npos ? "" : text.text.substr(blank + 1)));
    auto& parts = found[AccessKey{std::strtoll(text.text.c_str(), nullptr, 10), sketch.number}];
    parts.resize(file.members.size());
    parts[member] = std::move(sketch);
  }
  return ok_status();
}

Result<RecordedFile> recorded_file(const Job& job, const JobFile& from) {
  RecordedFile file;
  file.name = from.name;
  for (std::size_t rank = 0; rank < from.by_rank.size(); ++rank) {
    if (from.by_rank[rank].opens > 0) file.members.push_back(static_cast<i64>(rank));
  }
  file.hints = hints_of(from);
  file.layout.stripe_bytes = from.all.stripe_bytes;
  file.layout.stripe_count = from.all.stripe_count;
  file.layout.first_server = from.all.first_server;
  file.layout.block_bytes = from.all.block_bytes;
  std::map<AccessKey, std::vector<AccessSketch>> found;
  for (std::size_t member = 0; member < file.members.size(); ++member) MERCUTIO_TRY(take_sketches(job, member, file, found));
  double known = 0;
  for (auto& [key, parts] : found) {
    for (const AccessSketch& part : parts) known += static_cast<double>(part.summary.bytes);
    file.accesses.push_back(std::move(parts));
  }
  const double all = static_cast<double>(from.all.classes[2].bytes) + static_cast<double>(from.all.classes[3].bytes);
  if (known > 0) file.scale = std::max(1.0, all / known);
  return file;
}

// Of the file's members, as the library sees them.
Topology topology_of(const RecordedFile& file, const std::vector<i64>& node_of_rank) {
  Topology topology;
  std::map<i64, i64> numbers;
  for (const i64 rank : file.members) {
    const i64 node = node_of_rank[static_cast<std::size_t>(rank)];
    const auto [at, fresh] = numbers.emplace(node, topology.nodes());
    if (fresh) topology.node_names.push_back(std::to_string(node));
    topology.node_of_rank.push_back(at->second);
  }
  topology.segment_bytes = topology.ranks() > topology.nodes() ? kSharedBytes : 0;
  return topology;
}

Plan plan_of(const RecordedFile& file, const std::vector<AccessSketch>& access, const Topology& topology) {
  std::vector<RankSummary> summaries;
  Direction direction = Direction::kRead;
  for (const AccessSketch& part : access) {
    summaries.push_back(part.summary);
    if (part.summary.bytes > 0) direction = part.direction;
  }
  return make_plan(summarise(direction, /*atomic=*/false, summaries), file.hints, topology, file.layout);
}

// Calls visit(aggregator, bytes) for the parts of a member's data.
template <class Visit>
void divide(const Plan& plan, const AccessSketch& part, i64 member, Visit visit) {
  for (const SketchRun& run : part.runs) {
    const i64 end = run.offset + run.bytes, least = std::max<i64>(1, run.bytes / kMostParts);
    for (i64 at = run.offset; at < end;) {
      const i64 owner = plan.owner(at, member);
      const i64 next = std::min(end, std::max(plan.share_end(at, member), at + least));
      visit(owner, next - at);
      at = next;
    }
  }
}

using Share = std::pair<i64, double>;          // a rank of the job, its bytes
using Domain = std::vector<Share>;             // of an aggregator, by rank

std::vector<Domain> domains_of(const RecordedFile& file, const std::vector<AccessSketch>& access, const Plan& plan) {
  std::vector<Domain> domains(static_cast<std::size_t>(plan.domains()));
  for (std::size_t member = 0; member < access.size(); ++member) {
    divide(plan, access[member], static_cast<i64>(member), [&](i64 owner, i64 bytes) {
      Domain& domain = domains[static_cast<std::size_t>(owner)];
      const i64 rank = file.members[member];
      if (domain.empty() || domain.back().first != rank) domain.emplace_back(rank, 0);
      domain.back().second += static_cast<double>(bytes);
    });
  }
  return domains;
}

}  // namespace

Result<RecordedRun> recorded_run(const std::string& trace) {
  MERCUTIO_LET(auto traces, tool::read_trace_file(trace));
  const Job job = job_of(std::move(traces));
  if (!job.single_ranks()) return Error{ErrorClass::kFile, "of more than " + std::to_string(kMostPieces) + " ranks it does not have each"};
  if (static_cast<i64>(job.traces.size()) != job.ranks)
    return Error{ErrorClass::kFile, "it holds " + std::to_string(job.traces.size()) + " of " + std::to_string(job.ranks) + " ranks; all are needed"};
  RecordedRun run;
  run.program = job.program;
  run.ranks = job.ranks;
  for (const RankTrace& one : job.traces) run.hosts.emplace_back(one.header.host.data(), strnlen(one.header.host.data(), one.header.host.size()));
  for (const JobFile& file : job.files) {
    MERCUTIO_LET(RecordedFile recorded, recorded_file(job, file));
    if (!recorded.accesses.empty()) run.files.push_back(std::move(recorded));
  }
  return run;
}

Volume exchanged(const RecordedRun& run, const std::vector<i64>& node_of_rank) {
  std::map<Domain, double> domains;   // the same again and again in most programs
  for (const RecordedFile& file : run.files) {
    const Topology topology = topology_of(file, node_of_rank);
    for (const auto& access : file.accesses) {
      const Plan plan = plan_of(file, access, topology);
      if (!plan.exchanges()) continue;
      for (Domain& domain : domains_of(file, access, plan)) {
        if (domain.size() > 1) domains[std::move(domain)] += file.scale;
      }
    }
  }
  Volume volume(run.ranks);
  for (const auto& [domain, times] : domains) {
    double all = 0;
    for (const auto& [rank, bytes] : domain) all += bytes;
    for (std::size_t a = 0; a < domain.size(); ++a) {
      // In each direction: bytes of a, times the share of b.
      const double factor = 2 * times * domain[a].second / all;
      for (std::size_t b = a + 1; b < domain.size(); ++b) volume.add(domain[a].first, domain[b].first, factor * domain[b].second);
    }
  }
  return volume;
}

Volume neighbours(const RecordedRun& run) {
  Volume volume(run.ranks);
  for (const RecordedFile& file : run.files) {
    for (const auto& access : file.accesses) {
      std::vector<std::pair<i64, i64>> touched;   // offset, rank
      for (std::size_t member = 0; member < access.size(); ++member) {
        for (const SketchRun& part : access[member].runs) touched.emplace_back(part.offset, file.members[member]);
      }
      std::stable_sort(touched.begin(), touched.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      std::vector<i64> order;
      for (const auto& [offset, rank] : touched) order.push_back(rank);
      add_neighbours(order, 1, volume);
    }
  }
  return volume;
}

Exchanged planned(const RecordedRun& run, const std::vector<i64>& node_of_rank) {
  Exchanged sum;
  for (const RecordedFile& file : run.files) {
    const Topology topology = topology_of(file, node_of_rank);
    for (const auto& access : file.accesses) {
      const Plan plan = plan_of(file, access, topology);
      if (!plan.exchanges()) continue;
      for (std::size_t member = 0; member < access.size(); ++member) {
        divide(plan, access[member], static_cast<i64>(member), [&](i64 owner, i64 bytes) {
          const auto aggregator = static_cast<std::size_t>(plan.aggregators[static_cast<std::size_t>(owner)]);
          sum.bytes += file.scale * static_cast<double>(bytes);
          if (topology.node_of_rank[aggregator] != topology.node_of_rank[member]) sum.between_nodes += file.scale * static_cast<double>(bytes);
        });
      }
    }
  }
  return sum;
}

}  // namespace mercutio::place
