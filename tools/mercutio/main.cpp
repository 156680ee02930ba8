// The `mercutio` command: starts programs under the library, and says what is what.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <optional>

#include "../output.h"
#include "base/edit_distance.h"
#include "bench/bench.h"
#include "doctor.h"
#include "driver.h"
#include "explain.h"
#include "hint_table.h"
#include "jobs/jobs.h"
#include "launcher.h"
#include "locate.h"
#include "numbers.h"
#include "place.h"
#include "probe.h"
#include "process.h"
#include "python.h"
#include "replay.h"
#include "mercutio_revision.h"
#include "report.h"
#include "run.h"

namespace mercutio::tool {
namespace {

int preload() {
  const Preload library = library_to_preload();
  if (library.path.empty()) {
    std::fprintf(stderr, "mercutio: %s\n", library.why_not.c_str());
    return 1;
  }
  std::printf("%s\n", library.path.c_str());
  return 0;
}

// The user's command begins after `--`, or at the first word that is not an option of ours; from there on nothing is
// ours to interpret. Returns where it begins (argc if there is none).
int command_start(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "replay") == 0) {
    return static_cast<int>(std::find_if(argv, argv + argc, [](const char* word) { return std::strcmp(word, "--") == 0; }) - argv);
  }
  if (argc < 2 || (std::strcmp(argv[1], "run") != 0 && std::strcmp(argv[1], "doctor") != 0)) return argc;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.empty() || word[0] != '-' || word == "--") return i;
    if (word == "--hint" || word == "--dir") ++i;
  }
  return argc;
}

constexpr i64 kMostRanks = 1'000'000, kMostRepetitions = 1'000'000, kMostBytes = i64{1} << 40;
const CLI::Validator kKeyValue([](const std::string& text) { return text.find('=', 1) != std::string::npos ? "" : text + " must be key=value"; }, "");

// What both kinds of bench have.
void add_common_bench(CLI::App& command, BenchOptions& options, const char* ios) {
  const auto several = [&](const char* name, Words& words, const std::string& text) {
    return command.add_option(name, words, text)->expected(1)->take_all();
  };
  command.add_option("--dir", options.directory, "Directory for the data (default: the current one)")->check(CLI::ExistingDirectory);
  command.add_option("-n,--ranks", options.ranks, "Number of ranks (default " + std::to_string(options.ranks) + ")")
      ->transform(whole_number(1, kMostRanks));
  command.add_option("--repetitions", options.repetitions, "Number of repetitions (default 3)")
      ->transform(whole_number(1, kMostRepetitions));
  command.add_option("--time-limit", options.limit_seconds, "Longest time of one access in seconds (default 60)")
      ->transform(seconds_number());
  command.add_option("--seed", options.seed, "Random seed (default 1)")->transform(whole_number(0, INT32_MAX));
  several("--mpi", options.launchers, "Launcher of an MPI to measure; may be repeated (default: those on PATH)");
  several("--io", options.io, std::string("MPI-IO to measure: host, romio, mercutio, traced (Mercutio with a trace), or recorded (with MERCUTIO_SITE); may be repeated (default: ") + ios + ")")
      ->check(CLI::IsMember({"host", "romio", "mercutio", "traced", "recorded"}));
  several("--hint", options.hints, "Hint for Mercutio, key=value; may be repeated (default: none)")->check(kKeyValue);
  several("--host-hint", options.host_hints, "Hint for the other MPI-IOs, key=value; may be repeated (default: none)")->check(kKeyValue);
  command.add_option("--shim", options.shim, "Library to preload against busy polling: auto, none or a path (default auto)");
  command.add_option("--json", options.json_file, "Also write the table to this file (default: none)");
  CLI::Option* plot = command.add_option("--plot", options.plot_file, "Draw the table into this picture; needs matplotlib (default: none)");
  command.add_option("--from", options.from_file, "Measure nothing and draw the table of this --json file (default: none)")
      ->check(CLI::ExistingFile)
      ->needs(plot);
}

CLI::App* add_bench(CLI::App& app, BenchOptions& options) {
  CLI::App* command =
      app.add_subcommand("bench", "Measure the I/O of the MPIs found here and Mercutio on them, pattern by pattern");
  command->add_option("--bytes", options.bytes, "Bytes for each rank and case (default 64MiB)")
      ->transform(size_number(1, kMostBytes));
  command->add_flag("--quick", options.quick, "Use 4 MiB for each rank and case (default: off)");
  command->add_flag("--full", options.full, "Use all bytes even where an MPI's own I/O is very slow (default: off)");
  command->add_option("--patterns", options.patterns, "Cases, or beginnings of their names, such as vector,tile-64 (default: all)");
  command->add_option("--against", options.against, "Another libmercutio.so to compare this one with (default: none)")
      ->check(CLI::ExistingFile);
  add_common_bench(*command, options, "host, romio, mercutio");
  return command;
}

CLI::App* add_overlap(CLI::App& bench_command, OverlapOptions& options) {
  CLI::App* command = bench_command.add_subcommand(
      "overlap", "Measure how much of each nonblocking and split call hides behind computation");
  const auto size = [&](const char* name, std::uint64_t& value, const char* text) {
    return command->add_option(name, value, text)->transform(size_number(1, kMostBytes));
  };
  command->add_option("--calls", options.common.patterns, "Calls to measure, such as iwrite_all,write_all_begin (default: all)");
  size("--bytes", options.common.bytes, "Bytes for each rank and access (default 8MiB)");
  command->add_flag("--quick", options.common.quick, "Use 1 MiB for each rank and access (default: off)");
  command->add_option("--servers", options.servers, "Number of emulated servers (default 2)")
      ->transform(whole_number(1, 16));
  command->add_option("--rate", options.rate, "Bytes a second of each server (default 32MB)")
      ->transform(size_number(1, kMostBytes, Units::kDecimal));
  size("--stripe", options.stripe, "Bytes of a stripe (default 1MiB)");
  command->add_option("--posting-ranks", options.posting_ranks, "Ranks that measure the time of posting; 0: none (default 4)")
      ->transform(whole_number(0, kMostRanks));
  command->add_flag("--check-bars", options.check_bars, "Exit with code 1 if Mercutio misses one of its targets (default: off)");
  add_common_bench(*command, options.common, "host, mercutio");
  return command;
}

CLI::App* add_explain(CLI::App& app, ExplainOptions& options) {
  CLI::App* explain_command =
      app.add_subcommand("explain", "Print how a collective access would be carried out on a machine, and why");
  CLI::Option* trace = explain_command->add_option("--trace", options.trace_file, "Print the plans of this trace, file by file (default: none)");
  CLI::Option* machine =
      explain_command->add_option("--machine", options.machine_file, "Machine file: which rank is on which node, and how files are striped (required without --trace)")
          ->check(CLI::ExistingFile);
  explain_command->add_option("--pattern", options.pattern_file, "Pattern file: what the ranks access (required with --machine)")
      ->check(CLI::ExistingFile)
      ->needs(machine);
  machine->excludes(trace);
  explain_command->add_option("--hint", options.hints, "Hint, key=value; may be repeated (default: none)")->expected(1)->take_all()->excludes(trace);
  explain_command->add_flag("--ranks", options.ranks,
                            "Also print what each aggregator owns, and each rank's order of aggregators (default: off)")
      ->excludes(trace);
  return explain_command;
}

CLI::App* add_probe(CLI::App& app, ProbeOptions& options) {
  CLI::App* probe_command =
      app.add_subcommand("probe", "Measure what a process and a node need to saturate a file system, and keep it");
  probe_command->add_option("--dir", options.directory, "Directory for the data (default: the current one)")
      ->check(CLI::ExistingDirectory);
  probe_command->add_option("--bytes", options.volume_bytes, "Bytes of each measurement and process (default 64MiB)")
      ->transform(size_number(4 * KiB, kMostBytes));
  probe_command
      ->add_option("--processes", options.most_processes, "Maximum number of processes (default: the processors, at most 16)")
      ->transform(whole_number(1, 1024));
  probe_command->add_option("--repetitions", options.repetitions, "Number of repetitions of each measurement (default 5)")->transform(whole_number(3, 1000));
  probe_command->add_flag_callback("--print", [&] { options.keep = false; }, "Print the result and store nothing (default: off)");
  return probe_command;
}

CLI::App* add_driver(CLI::App& app, DriverOptions& options) {
  CLI::App* driver_command = app.add_subcommand("driver", "Check a storage driver: mercutio driver check NAME:path");
  driver_command->require_subcommand(1);
  CLI::App* check_command = driver_command->add_subcommand("check", "Run the contract of storage drivers on new files called NAME:path.check-*, which are deleted");
  check_command->add_option("file", options.file, "Where files may be made, with the prefix of the driver")->required();
  check_command->add_option("--processes", options.processes, "Number of processes that write side by side (default 3)")->transform(whole_number(1, 64));
  check_command->add_option("--seconds", options.seconds, "Number of seconds that a check may take (default 60)")->transform(whole_number(1, 86400));
  return check_command;
}

CLI::App* add_hints(CLI::App& app, HintsOptions& options) {
  CLI::App* hints_command =
      app.add_subcommand("hints", "List the hints, explain one, show those in effect for a file, or check a file of hints");
  hints_command->add_option("name", options.name, "Hint to explain, by any of its names (default: list all)");
  hints_command->add_option("--file", options.file, "Show the hints in effect for this file, their origins, and what is ignored (default: none)");
  hints_command->add_option("--info", options.info, "With --file: key=value of the program's MPI_Info; may be repeated (default: none)")
      ->expected(1)
      ->take_all()
      ->check(kKeyValue);
  hints_command->add_option("--program", options.program, "With --file: name of the program, for the tuner's profile (default: none)");
  hints_command->add_option("--ranks", options.ranks, "With --file: number of ranks of the job (default: any)")->transform(whole_number(1, INT32_MAX));
  hints_command->add_option("--check", options.check, "Check a hint file such as hints.toml, or those of a directory, for mistakes (default: none)");
  return hints_command;
}

// Programs of their own: they need OpenSSL, which nothing else does. Null: another command; some have several.
const char* remote_program(const std::string& name) {
  struct Known {
    const char *command, *program;
  };
  constexpr Known kKnown[] = {{"connect", "connect"}, {"connections", "connections"}, {"disconnect", "connections"}, {"cp", "cp"}, {"route", "route"},
                              {"ls", "files"}, {"stat", "files"}, {"mkdir", "files"}, {"rm", "files"}, {"mv", "files"},
                              {"mount", "mount"}, {"umount", "mount"}};
  for (const Known& known : kKnown)
    if (name == known.command) return known.program;
  return nullptr;
}

int remote_command(const std::string& name, int argc, char** argv) {
  const std::string program = own_directory() + "/mercutio-" + name;
  Words words = {program};
  const bool has_several = name == "files" || name == "connections" || name == "mount";
  words.insert(words.end(), argv + (has_several ? 1 : 2), argv + argc);   // which of them
  const int error = become(words);
  std::fprintf(stderr, "mercutio %s: %s: %s (it is built where OpenSSL 3, xxhash and lz4%s are)\n", argv[1], program.c_str(), std::strerror(error),
               name == "mount" ? ", and libfuse3" : "");
  return 1;
}

// A program of its own, in Python, because Optuna is.
int tune(int argc, char** argv) {
  const std::string script = resolved(own_directory() + "/../share/mercutio/tune/tune.py"), python = find_python("optuna");
  if (script.empty() || python.empty()) {
    std::fprintf(stderr, "mercutio tune: %s\n", python.empty() ? "python3 was not found; MERCUTIO_PYTHON may name one" : "tune.py is not installed");
    return 1;
  }
  Words words = {python, script, own_directory() + "/mercutio"};
  words.insert(words.end(), argv + 2, argv + argc);
  const int error = become(words);
  std::fprintf(stderr, "mercutio tune: %s: %s\n", python.c_str(), std::strerror(error));
  return 1;
}

CLI::App* add_run(CLI::App& app, RunOptions& options) {
  CLI::App* run_command =
      app.add_subcommand("run", "Run a program under Mercutio: mercutio run [--] mpirun -n 4 ./app");
  run_command->add_flag("--print", options.print, "Print the command line instead of running it (default: off)");
  run_command->add_option("--hint", options.hints, "Hint for every file, key=value; may be repeated (default: none)")
      ->expected(1)
      ->take_all()
      ->check(kKeyValue);
  run_command->add_flag("--report{1}", options.report, "Report at the end where the time of the I/O went, on stderr or with --report=FILE in a file (default: off)");
  run_command->add_flag("--trace{1}", options.trace, "Record a trace for mercutio report; --trace=FILE names it (default: off)");
  return run_command;
}

CLI::App* add_doctor(CLI::App& app, DoctorOptions& options) {
  CLI::App* command = app.add_subcommand("doctor", "Say what is found here, what works, and why not: mercutio doctor [-- mpirun -n 2 ./app]");
  command->add_option("--dir", options.directory, "Directory for the data (default: the current one)")->check(CLI::ExistingDirectory);
  return command;
}

CLI::App* add_replay(CLI::App& app, ReplayOptions& options) {
  CLI::App* command = app.add_subcommand(
      "replay", "Repeat the file accesses of a recorded job without its program: mercutio replay app.mtrace [-- mpirun -n 4]");
  command->add_option("trace", options.trace, "Trace that mercutio run --trace recorded")->required();
  command->add_option("--hint", options.hints, "Hint for every file that wins over all others, key=value; may be repeated (default: none)")
      ->expected(1)
      ->take_all()
      ->check(kKeyValue);
  command->add_option("--to", options.target, "Directory or file to write to and keep (default: NAME.replay, which is removed)");
  command->add_flag("--think", options.think, "Pause where the program did (default: off)");
  command->add_flag_callback("--no-verify", [&] { options.verify = false; }, "Do not check what is read (default: check)");
  command->add_flag("--host", options.host, "Replay on the MPI's own MPI-IO (default: Mercutio)");
  command->add_flag("--json", options.json, "Print the result as JSON (default: off)");
  command->add_option("--scratch", options.scratch, "Directory of all nodes for the script and the program while it runs (default: beside the files)")
      ->check(CLI::ExistingDirectory);
  return command;
}

CLI::App* add_report(CLI::App& app, ReportOptions& options) {
  CLI::App* report_command = app.add_subcommand("report", "Say where the time of a traced job's I/O went, and what to do about it");
  report_command->add_option("trace", options.trace, "Trace that mercutio run --trace recorded")->required();
  CLI::Option* json = report_command->add_flag("--json", options.json, "Print everything as JSON, as docs/reference/report.schema.json describes it (default: off)");
  CLI::Option* stats = report_command->add_flag("--stats", options.stats, "Print counts of each file, in the manner of MPICH_MPIIO_STATS (default: off)")->excludes(json);
  report_command->add_flag("--csv", options.csv, "Print a line of CSV for each rank and file (default: off)")->excludes(json)->excludes(stats);
  CLI::Option* page = report_command->add_option("-o,--output", options.page, "Write a page of charts to this HTML file; needs matplotlib and Jinja2 (default: none)");
  report_command->add_option("--compare", options.compare, "With -o: trace of another run to compare with (default: none)")->needs(page);
  report_command->add_option("--perfetto", options.perfetto, "Write single events for ui.perfetto.dev to this file (default: none)");
  report_command->add_option("--events", options.events, "Maximum number of single events (default 20000)")->transform(whole_number(0, INT32_MAX));
  return report_command;
}

CLI::App* add_jobs(CLI::App& app, JobsOptions& options) {
  CLI::App* command = app.add_subcommand("jobs", "Say which of a site's jobs lose most time in I/O, and why: mercutio jobs --since 7d /logs");
  command->add_option("places", options.places, "Folders or files of records (default: where MERCUTIO_SITE or the site's hint file has them)");
  command->add_option("--since", options.since, "Jobs that began on this day or later: 2026-11-25, or 24h, 7d, 4w ago (default: all)");
  command->add_option("--until", options.until, "Jobs that began before; a date counts to its end (default: all)");
  command->add_option("--user", options.user, "Jobs of this user (default: all)");
  command->add_option("--program", options.program, "Jobs of this program (default: all)");
  command->add_option("--finding", options.finding, "Jobs with this finding (default: all)");
  command->add_option("--file-system", options.file_system, "Jobs with files there; with --finding, findings there (default: all)");
  command->add_option("--top", options.top, "Number of rows of a table (default 10)")->transform(whole_number(1, INT32_MAX));
  command->add_flag("--json", options.json, "Print the tables as JSON (default: off)");
  command->add_option("--html", options.page, "Write the tables as a page to this file (default: none)");
  return command;
}

CLI::App* add_place(CLI::App& app, PlaceOptions& options) {
  CLI::App* command = app.add_subcommand("place", "Say on which node each rank should run, for the collective I/O of a traced job");
  command->add_option("trace", options.trace, "Trace that mercutio run --trace recorded");
  const auto file = [&](const char* name, std::string& value, const char* text) {
    command->add_option(name, value, text)->check(CLI::ExistingFile);
  };
  file("--matrix", options.matrix_file, "Matrix of what each pair of ranks exchanges, as CSV (default: from the trace)");
  command->add_option("--use", options.use, "What to take from the trace: exchange, or neighbours in the file (default exchange)")
      ->check(CLI::IsMember({"exchange", "neighbours"}));
  file("--hosts", options.hosts_file, "Host file of Open MPI or MPICH: where ranks may run (default: where they ran)");
  file("--machine", options.machine_file, "The same as a machine file of mercutio explain (default: none)");
  file("--costs", options.costs_file, "Cost of a byte between each pair of nodes, as CSV (default: 0 inside, 1 between)");
  command->add_option("--topology", options.topology, "Topology of a node: a file of lstopo --of xml, or here (default: none)");
  command->add_option("--method", options.search.method, "Method: auto, setmatch, mpipp or scotch (default auto)")
      ->check(CLI::IsMember({"auto", "setmatch", "mpipp", "scotch"}));
  command->add_option("--restarts", options.search.restarts, "Number of random starts of MPIPP (default 10; 1 above 512 ranks)")->transform(whole_number(1, kMostRepetitions));
  command->add_option("--seed", options.search.seed, "Random seed (default 1)")->transform(whole_number(0, INT32_MAX));
  command->add_option("--rankfile", options.rankfile, "Write a rankfile for Open MPI (default: none)");
  command->add_option("--machinefile", options.hydra_file, "Write a machine file for MPICH and Intel MPI (default: none)");
  command->add_option("--slurm", options.slurm_file, "Write a host file for srun --distribution=arbitrary (default: none)");
  command->add_option("--write-matrix", options.matrix_output, "Write the matrix of the ranks, as --matrix reads it (default: none)");
  return command;
}

// For --help: they are programs of their own.
void add_programs(CLI::App& app) {
  app.add_subcommand("tune", "Search the hints with which a command's I/O is fastest, and keep them: mercutio tune -- mpirun -n 4 ./app");
  app.add_subcommand("connect", "Start a server on another cluster by ssh, for files called mercutio://host/...");
  app.add_subcommand("cp", "Copy files between here and other clusters: mercutio cp a.nc mercutio://host/data/");
  app.add_subcommand("connections", "List the connections to other clusters, and whether their servers answer");
  app.add_subcommand("disconnect", "End the server of a connection: mercutio disconnect far.example");
  app.add_subcommand("ls", "List files of another cluster: mercutio ls mercutio://host/data/");
  app.add_subcommand("stat", "Say what a file of another cluster is");
  app.add_subcommand("mkdir", "Make directories on another cluster");
  app.add_subcommand("rm", "Remove files of another cluster");
  app.add_subcommand("mv", "Rename files of another cluster");
  app.add_subcommand("mount", "Make the files of another cluster a directory of this machine: mercutio mount host:data /mnt/data");
  app.add_subcommand("umount", "End what mercutio mount has begun");
  app.add_subcommand("route", "Pass connections on, on a gateway between compute nodes and another cluster");
}

bool has_command(const CLI::App& app, const std::string& word) {
  return !app.get_subcommands([&](const CLI::App* one) { return one->get_name() == word; }).empty();
}

int unknown_command(const CLI::App& app, const std::string& word) {
  std::string meant;
  i64 least = believable_mistakes(word) + 1;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; })) {
    const i64 distance = edit_distance(word, one->get_name());
    if (distance < least) least = distance, meant = one->get_name();
  }
  const std::string advice = meant.empty() ? "; `mercutio --help` lists them" : "; did you mean " + meant + "?";
  std::fprintf(stderr, "mercutio: there is no command '%s'%s\n", word.c_str(), advice.c_str());
  return 2;
}

// 2, and says so, if the first word is no command and no option.
int check_first(const CLI::App& app, const std::string& word) {
  if (!word.starts_with("-")) return has_command(app, word) ? 0 : unknown_command(app, word);
  if (app.get_option_no_throw(word)) return 0;
  std::fprintf(stderr, "mercutio: there is no option '%s'; `mercutio --help` lists what there is\n", word.c_str());
  return 2;
}

// "mercutio bench overlap", as far as the words have been understood.
std::string command_words(const CLI::App* app) {
  const std::string words = app->get_name();
  const std::vector<CLI::App*> inside = app->get_subcommands();
  return inside.empty() ? words : words + " " + command_words(inside.front());
}

std::string usage_error(const CLI::App* app, const CLI::Error& error) {
  std::string what = error.what();
  if (what.size() > 1 && std::isupper(static_cast<unsigned char>(what[0])) && !std::isupper(static_cast<unsigned char>(what[1])))
    what[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(what[0])));
  const std::string words = command_words(app);
  return words + ": " + what + "; `" + words + " --help` lists what there is\n";
}

// 2, and says so, where an argument is empty, as that of a variable of a script that isn't set.
int refuse_empty(const CLI::App& app, const std::string& words) {
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& given = option->results();
    if (std::find(given.begin(), given.end(), "") == given.end()) continue;
    std::fprintf(stderr, "%s: %s: the argument is empty\n", words.c_str(), option->get_name().c_str());
    return 2;
  }
  for (const CLI::App* inside : app.get_subcommands())
    if (const int refused = refuse_empty(*inside, words)) return refused;
  return 0;
}

// The exit code if that is all.
std::optional<int> parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const int refused = refuse_empty(app, command_words(&app));
  return refused != 0 ? std::optional<int>(refused) : std::nullopt;
}

int command_line(int argc, char** argv) {
  if (const char* const program = argc > 1 ? remote_program(argv[1]) : nullptr) return remote_command(program, argc, argv);
  if (argc > 1 && std::strcmp(argv[1], "tune") == 0) return tune(argc, argv);
  CLI::App app("Mercutio: MPI-IO under any MPI program, without recompiling it.", "mercutio");
  app.require_subcommand(1);
  app.failure_message(usage_error);
  app.set_version_flag("--version", "mercutio " MERCUTIO_REVISION);
  RunOptions run_options;
  DoctorOptions doctor_options;
  BenchOptions bench_options;
  OverlapOptions overlap_options;
  ExplainOptions explain_options;
  ProbeOptions probe_options;
  HintsOptions hints_options;
  DriverOptions driver_options;
  ReportOptions report_options;
  PlaceOptions place_options;
  JobsOptions jobs_options;
  ReplayOptions replay_options;

  CLI::App* run_command = add_run(app, run_options);
  CLI::App* preload_command = app.add_subcommand("preload", "Print the value for LD_PRELOAD");
  CLI::App* doctor_command = add_doctor(app, doctor_options);
  CLI::App* hints_command = add_hints(app, hints_options);
  CLI::App* check_command = add_driver(app, driver_options);
  CLI::App* bench_command = add_bench(app, bench_options);
  CLI::App* overlap_command = add_overlap(*bench_command, overlap_options);
  CLI::App* explain_command = add_explain(app, explain_options);
  CLI::App* probe_command = add_probe(app, probe_options);
  add_programs(app);
  CLI::App* report_command = add_report(app, report_options);
  CLI::App* jobs_command = add_jobs(app, jobs_options);
  CLI::App* place_command = add_place(app, place_options);
  CLI::App* replay_command = add_replay(app, replay_options);
  CLI::App* version_command = app.add_subcommand("version", "Print the version");
  if (argc > 1 && check_first(app, argv[1]) != 0) return 2;
  const int start = command_start(argc, argv);
  if (const std::optional<int> code = parse(app, start, argv)) return *code;

  const int first = start < argc && std::strcmp(argv[start], "--") == 0 ? start + 1 : start;
  run_options.command = doctor_options.command = replay_options.command = Words(argv + first, argv + argc);
  if (*run_command) return run(run_options);
  if (*preload_command) return preload();
  if (*doctor_command) return doctor(doctor_options);
  if (*hints_command) return hints(hints_options);
  if (*check_command) return check_driver(driver_options);
  if (*overlap_command) return bench_overlap(overlap_options);
  if (*bench_command) return bench(bench_options);
  if (*explain_command) return explain(explain_options);
  if (*probe_command) return probe(probe_options);
  if (*report_command) return report(report_options);
  if (*jobs_command) return jobs(jobs_options);
  if (*place_command) return place_ranks(place_options);
  if (*replay_command) return replay(replay_options);
  if (*version_command) std::puts("mercutio " MERCUTIO_REVISION);
  return 0;
}

// `mercutio help` and `mercutio help COMMAND`, as `mercutio COMMAND --help`.
int help(int argc, char** argv) {
  char option[] = "--help";
  char* words[] = {argv[0], argc > 2 ? argv[2] : option, option, nullptr};
  return command_line(argc > 2 ? 3 : 2, words);
}

}  // namespace
}  // namespace mercutio::tool

int main(int argc, char** argv) {
  int code = 1;
  try {
    code = argc > 1 && std::strcmp(argv[1], "help") == 0 ? mercutio::tool::help(argc, argv) : mercutio::tool::command_line(argc, argv);
  } catch (const std::exception& error) {
    const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    std::fprintf(stderr, "mercutio: %s\n", memory ? "there is not enough memory" : error.what());
  }
  return mercutio::exit_code_with_output("mercutio", code);
}
