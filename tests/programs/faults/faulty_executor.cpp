#include "faults/faulty_executor.h"

#include "draw.h"
#include "faults/judge.h"
#include "faults/rank.h"

namespace mercutio::programs {
namespace {

Topology draw_topology(Draw& draw, int ranks) {
  Topology topology;
  const i64 nodes = draw.percent(40) ? 1 : draw.between(1, ranks);
  for (i64 node = 0; node < nodes; ++node) topology.node_names.push_back("node" + std::to_string(node));
  for (i64 rank = 0; rank < ranks; ++rank) topology.node_of_rank.push_back(rank < nodes ? rank : draw.between(0, nodes - 1));
  return topology;
}

JobOptions draw_options(const Program& program, const Fault& fault) {
  Draw draw(program.seed ^ 0x10B5ULL);
  JobOptions options;
  options.seed = draw.next();
  options.longest_delay = draw.between(0, 2) * draw.between(1, 40);
  options.topology = draw_topology(draw, program.ranks);
  options.shares_memory = draw.percent(60);
  options.fault = fault;
  return options;
}

// A storage that isn't coherent is used on one node only: several are refused what needs it.
Traits draw_traits(const Program& program, i64 nodes) {
  Draw draw(program.seed ^ 0x7261ULL);
  Traits traits;
  traits.file_system = "simulated";
  traits.coherence = draw.percent(60) || nodes > 1 ? Coherence::kImmediate : Coherence::kAfterOpen;
  traits.metadata_is_remote = draw.percent(30);
  return traits;
}

void make_files(const Program& program, Files& files) {
  for (size_t f = 0; f < program.files.size(); ++f) {
    const int number = static_cast<int>(f);
    if (program.files[f].initial_bytes < 0) continue;
    SimulatedFile& file = files.file(name_of_file(number));
    for (i64 i = 0; i < program.files[f].initial_bytes; ++i) {
      file.bytes.push_back(static_cast<std::byte>(pattern(key_of_file(number), static_cast<std::uint32_t>(i))));
    }
  }
}

// The looks with which each program ends, by nobody of the job.
void look_at_the_end(const Program& program, Files& files, Record& record) {
  for (size_t i = program.steps.size(); i-- > 0 && program.steps[i].op == Op::kVerify;) look(files, program.steps[i].file, record[i][0]);
}

}  // namespace

std::vector<Finding> FaultyExecutor::run(const Program& program, const std::vector<Planned>& planned) {
  Record record(program.steps.size());
  DatarepRegistry datareps;
  const JobOptions options = draw_options(program, fault_);
  auto job = std::make_unique<SimulatedJob>(options);
  auto files = std::make_unique<Files>(*job, program.seed, draw_traits(program, options.topology.nodes()), fault_);
  const Mounted mounted(*files);
  make_files(program, *files);
  const Run common{program, planned, *job, *files, datareps, record};
  const Simulation::End end = job->run([&](i64 rank) { RankRun(common, rank).go(); });
  met_ = files->has_failed() || job->somebody_died();
  errors_ = 0;
  for (const auto& entries : record) {
    for (const Entry& entry : entries) errors_ += entry.came == Came::kFailed;
  }
  if (end != Simulation::End::kDone) {
    std::vector<Finding> findings;
    for (i64 r = 0; r < program.ranks; ++r) {
      if (job->step_of_rank(r) < 0) continue;
      findings.push_back({static_cast<int>(job->step_of_rank(r)), static_cast<int>(r), end == Simulation::End::kDeadlock ? "hangs" : "takes too long"});
    }
    static_cast<void>(job.release()), static_cast<void>(files.release());  // its fibers have not ended
    return findings;
  }
  look_at_the_end(program, *files, record);
  std::vector<Finding> findings = judge(program, planned, record, fault_, met_);
  if (const std::string left = files->lock_left(); !left.empty()) findings.push_back({static_cast<int>(program.steps.size()) - 1, 0, left});
  return findings;
}

}  // namespace mercutio::programs
