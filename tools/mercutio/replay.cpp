// The script is the library's own (src/insight/replay.h). The program is compiled for the MPI that is to run it, as those of
// `mercutio bench` are; both lie where all nodes see them: beside the files, unless told otherwise.
#include "replay.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <thread>

#include "bench/common.h"
#include "bench/contender.h"
#include "hint_table.h"
#include "insight/replay.h"
#include "launcher_line.h"
#include "locate.h"
#include "mpi_install.h"
#include "mpi_library.h"
#include "process.h"
#include "run.h"
#include "trace_file.h"

namespace mercutio::tool {
namespace {

// "ufs:/scratch/a" -> "/scratch/a"
std::string without_prefix(const std::string& name) {
  const auto colon = name.find(':');
  return colon != std::string::npos && colon > 1 && name.find('/') > colon && name.compare(colon, 3, "://") != 0 ? name.substr(colon + 1) : name;
}

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// Of a file of this machine that the user has named; empty: nothing.
std::string what_is_wrong_with(const std::string& target) {
  if (target.empty() || without_prefix(target) != target || target.find("://") != std::string::npos) return "";
  const std::string why = why_not_writable(is_directory(target) ? target + "/" : target);
  return why.empty() ? "" : target + " can't be written: " + why;
}

// Where the replay writes: never to what is there already.
struct Targets {
  Words names;
  std::string why_not;
};

Targets targets_of(const ReplayOptions& options, const Replay& replay) {
  Targets targets;
  std::set<std::string> taken;
  const bool folder = is_directory(options.target);
  if (const std::string wrong = what_is_wrong_with(options.target); !wrong.empty() && options.target.back() != '/') return {{}, wrong};
  if (!options.target.empty() && !folder && (replay.files.size() > 1 || options.target.back() == '/'))
    return {{}, options.target + " is no directory, and the job used " + std::to_string(replay.files.size()) + " files: make the directory first"};
  for (const ReplayFile& file : replay.files) {
    const std::string own = without_prefix(file.name);
    std::string name = options.target.empty() ? file.name + ".replay"
                       : folder               ? options.target + "/" + own.substr(own.rfind('/') + 1)
                                              : options.target;
    std::replace(name.begin() + static_cast<std::ptrdiff_t>(name.rfind('/') + 1), name.end(), '\n', '_');   // the script has a line for each
    while (!taken.insert(name).second) name += ".2";
    std::error_code ignored;
    if (std::filesystem::exists(without_prefix(name), ignored))
      return {{}, without_prefix(name) + " exists; a replay overwrites nothing: remove it, or name another place with --to"};
    targets.names.push_back(std::move(name));
  }
  return targets;
}

// A launcher with its options, and the MPI it belongs to.
struct Start {
  Words words;
  int at = -1;  // of the launcher
  Mpi mpi;
  std::string shim, why_not;
};

// How many ranks a launcher is to start: its options for that, of which the last one is added where none is given.
std::vector<std::string_view> rank_options(LauncherKind kind) {
  switch (kind) {
    case LauncherKind::kSrun:
    case LauncherKind::kFlux:
      return {"ntasks", "n"};
    case LauncherKind::kJsrun:
      return {"n", "nrs", "np", "p"};
    case LauncherKind::kAprun:
      return {"pes", "n"};
    case LauncherKind::kRsh:
      return {"n", "np"};
    case LauncherKind::kOpenMpi:
      return {"c", "np", "n"};
    case LauncherKind::kHydra:
    case LauncherKind::kNone:
      break;
  }
  return {"np", "n"};
}

void name_ranks(LauncherKind kind, Words& words, int at, i64 ranks) {
  const Context context = contexts_of(kind, words, at).front();
  const std::vector<std::string_view> names = rank_options(kind);
  const auto counts = [&](const Option& option) { return std::find(names.begin(), names.end(), option.name) != names.end(); };
  if (std::any_of(context.options.begin(), context.options.end(), counts)) return;
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(context.from), {"-" + std::string(names.back()), std::to_string(ranks)});
}

Start find_start(const ReplayOptions& options, i64 ranks) {
  Start start;
  start.words = options.command;
  if (!options.command.empty()) {
    start.at = find_launcher(options.command);
    if (start.at < 0) return {{}, -1, {}, "", joined(options.command, " ") + ": no launcher of an MPI that is known (mpirun, mpiexec, srun)"};
    const std::string path = find_on_path(options.command[start.at]);
    if (path.empty()) return {{}, -1, {}, "", options.command[start.at] + " was not found"};
    start.mpi = describe_mpi(path);
    name_ranks(start.mpi.kind, start.words, start.at, ranks);
    return start;
  }
  std::string path;
  for (const char* name : {"mpirun", "mpiexec", "mpirun.mpich", "mpirun.openmpi"}) {
    if (path.empty()) path = find_on_path(name);
  }
  if (path.empty()) return {{}, -1, {}, "", "no MPI was found on PATH; name its launcher: mercutio replay TRACE -- mpirun -n " + std::to_string(ranks)};
  start.mpi = describe_mpi(path);
  const bool crowded = ranks > static_cast<i64>(std::thread::hardware_concurrency());
  start.words = surroundings(start.mpi, crowded);
  start.at = static_cast<int>(start.words.size());
  start.words.push_back(start.mpi.launcher);
  if (crowded && start.mpi.kind == LauncherKind::kOpenMpi) start.words.push_back("--oversubscribe");
  if (crowded && start.mpi.name.rfind("mpich", 0) == 0) start.shim = find_rank_library("libmpich_yield.so");
  start.words.insert(start.words.end(), {"-n", std::to_string(ranks)});
  return start;
}

// The launcher's whole line.
Words line_of(const ReplayOptions& options, const Start& start, const Words& program) {
  const std::string others = without_mercutio(environment("LD_PRELOAD"));
  setenv("MERCUTIO_DISABLE", options.host ? "1" : "0", 1);   // whatever the user has set
  setenv("LD_PRELOAD", others.c_str(), 1);
  Variables variables = variables_for_ranks(options.host ? "" : find_library(kTrampoline), {});
  if (options.host && !others.empty()) variables.emplace_back("LD_PRELOAD", others);
  if (!start.shim.empty()) {
    const auto preload = std::find_if(variables.begin(), variables.end(), [](const auto& one) { return one.first == "LD_PRELOAD"; });
    if (preload != variables.end())
      preload->second = append_preload(preload->second, start.shim);
    else
      variables.emplace_back("LD_PRELOAD", start.shim);
  }
  Words line = start.words;
  line.insert(line.end(), program.begin(), program.end());
  if (start.mpi.kind == LauncherKind::kNone) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  }
  return add_variables(start.mpi.kind, line, start.at, variables);
}

void print_result(const ReplayOptions& options, const Replay& replay, const std::string& line) {
  const FlatJson values = parse_flat_json(line);
  if (options.json) {
    std::printf("%s", line.c_str());
    return;
  }
  std::printf("%.0f accesses of %lld ranks: %.4g MiB written, %.4g MiB read\n", number(values, "calls"), static_cast<long long>(replay.ranks),
              number(values, "written") / (1 << 20), number(values, "read") / (1 << 20));
  std::printf("I/O held a rank for %.6f s at most, of %.6f s\n", number(values, "io_seconds"), number(values, "seconds"));
}

int run_replay(const ReplayOptions& options, const Replay& replay, const Words& names, const std::string& folder) {
  const Start start = find_start(options, replay.ranks);
  if (!start.why_not.empty()) return complain("replay", "the launcher", start.why_not);
  const std::string program = folder + "/mercutio-replay-" + start.mpi.name, script = folder + "/script", result = folder + "/result";
  const std::string why = compile_program(start.mpi, "replay", {"main", "play", "script", "types", "data"}, program);
  if (!why.empty()) return complain("replay", "the replaying program can't be compiled", why);
  const std::string flavour = library_of_program(program).flavour, library = library_to_preload().path;
  if (!options.host && !flavour.empty() && !has_backend(library, flavour))
    return complain("replay", start.mpi.name, "there is no " + backend_file(flavour) + " beside " + library + "; --host replays on the MPI's own I/O");
  std::ofstream out(script, std::ios::binary);
  out << script_of(replay, names);
  out.close();
  if (!out) return complain("replay", script, "can't be written");
  Words words = {program, script, result};
  for (const std::string& hint : options.hints) words.insert(words.end(), {"--hint", hint});
  if (options.think) words.push_back("--think");
  if (!options.target.empty()) words.push_back("--keep");
  if (!options.verify) words.push_back("--no-verify");
  int error = 0;
  const Words whole = line_of(options, start, words);
  const int code = run_through(whole, error);
  if (error != 0) complain("replay", whole.front(), std::strerror(error));
  std::string line;
  std::ifstream in(result);
  const bool done = static_cast<bool>(std::getline(in, line));
  if (code != 0 || !done) {
    if (options.target.empty()) {
      for (const std::string& name : names) std::remove(without_prefix(name).c_str());
    }
    return code != 0 ? code : complain("replay", "the replaying program", "ended without a result");
  }
  const std::string supplier = parse_flat_json(line)["io"];
  if (!options.host && !flavour_of_library(supplier).empty()) return complain("replay", "the calls", "went to " + supplier + ", not to Mercutio");
  print_result(options, replay, line + "\n");
  const double wrong = number(parse_flat_json(line), "wrong");
  return wrong > 0 ? complain("replay", "what was read", std::to_string(static_cast<i64>(wrong)) + " bytes are neither what was written there nor zero") : 0;
}

// Of Mercutio's: what another MPI-IO takes is not known here.
int refuse_hints(const ReplayOptions& options) {
  HintSet hints;
  const std::string given = environment("MERCUTIO_HINTS");
  if (const int refused = take_hints("replay", "--hint", options.hints, hints)) return refused;
  return given.empty() ? 0 : take_hints("replay", "MERCUTIO_HINTS", {given}, hints);
}

}  // namespace

int replay(const ReplayOptions& options) {
  auto traces = read_trace_file(options.trace);
  if (!traces) return complain("replay", options.trace, no_trace(options.trace, traces.error().what));
  const Job job = job_of(std::move(*traces));
  const auto made = make_replay(job);
  if (!made) return complain("replay", options.trace, "it can't be repeated: " + made.error().what);
  if (!options.host) {
    if (const int refused = refuse_hints(options)) return refused;
    if (const Preload library = library_to_preload(); library.path.empty()) return complain("replay", "libmercutio.so", library.why_not);
  }
  const Targets targets = targets_of(options, *made);
  if (!targets.why_not.empty()) return complain("replay", "--to", targets.why_not);
  if (!made->missing.empty()) std::fprintf(stderr, "mercutio replay: note: %s\n", made->missing.c_str());
  const SignalHold hold;
  const std::string beside = options.scratch.empty() ? directory_of(without_prefix(targets.names.front())) : options.scratch;
  const Scratch scratch(is_directory(beside) ? beside : std::filesystem::temp_directory_path().string(), "replay");
  if (scratch.path().empty()) return complain("replay", beside, "no directory can be made there; name another place with --to or --scratch");
  return run_replay(options, *made, targets.names, scratch.path());
}

}  // namespace mercutio::tool
