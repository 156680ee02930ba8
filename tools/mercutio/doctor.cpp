// The checks in the order a user would ask the questions: is Mercutio here, which MPIs are there, is anything set that
// changes the picture, what does the machine offer, and does a real run work.
#include "doctor.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "hint_table.h"
#include "locate.h"
#include "machine.h"
#include "mercutio_revision.h"
#include "model/environment_check.h"
#include "model/hints_sources.h"
#include "mpi_library.h"
#include "process.h"
#include "run.h"
#include "storage/library/library.h"

namespace mercutio::tool {
namespace {

class Report {
 public:
  void add(const Finding& finding) {
    static constexpr const char* kMarks[] = {"ok     ", "note   ", "PROBLEM"};
    std::printf("  %s  %-14s %s\n", kMarks[static_cast<int>(finding.verdict)], finding.subject.c_str(),
                finding.text.c_str());
    problems_ += finding.verdict == Verdict::kProblem;
  }
  void ok(const std::string& subject, const std::string& text) { add({Verdict::kOk, subject, text}); }
  void note(const std::string& subject, const std::string& text) { add({Verdict::kNote, subject, text}); }
  void problem(const std::string& subject, const std::string& text) { add({Verdict::kProblem, subject, text}); }
  int finish() const {
    if (problems_ == 0)
      std::printf("nothing in the way\n");
    else
      std::printf("%d problem%s\n", problems_, problems_ == 1 ? "" : "s");
    return problems_ == 0 ? 0 : 1;
  }

 private:
  int problems_ = 0;
};

void check_installation(Report& report) {
  std::puts("Mercutio " MERCUTIO_REVISION);
  const Preload library = library_to_preload();
  if (library.path.empty())
    report.problem("library", library.why_not);
  else
    report.ok("library", library.path);
  int backends = 0;
  for (const char* flavour : kFlavours) {
    const std::string path = find_library(backend_file(flavour));
    if (path.empty())
      report.note(std::string("for ") + flavour, "libmercutio-" + std::string(flavour) + ".so is not in " + library_directories().front() + ": programs of such an MPI use its own I/O");
    else
      report.ok(std::string("for ") + flavour, path);
    backends += !path.empty();
  }
  if (backends == 0) report.problem("backends", "none of the three is installed");
}

// Why no record of a job would come: its folders are made where they are not there.
std::string why_no_record(const std::string& pattern) {
  const Result<std::string> record = record_of_a_job(pattern);
  if (!record) return record.error().what;
  std::string folder = *record;
  do {
    folder = directory_of(folder);
  } while (folder.size() > 1 && ::access(folder.c_str(), F_OK) != 0 && errno == ENOENT);
  return ::access((folder + "/.").c_str(), W_OK | X_OK) == 0 ? "" : "no record can be made in " + folder + ": " + std::strerror(errno);
}

// What is wrong with a variable, as far as can be told.
std::string why_useless(const std::string& name, const std::string& value) {
  if (const std::string instead = values_instead(name, value); !instead.empty()) return "the values are " + instead;
  if (value.empty() || value == "0" || value == "1" || value == "off") return "";
  if (name == "ROMIO_HINTS" && resolved(value).empty()) return "no such file";
  if (name == "MERCUTIO_TRACE") return why_not_writable(value);
  return name == "MERCUTIO_SITE" ? why_no_record(value) : "";
}

// Hints that the library would warn of when a file is opened.
void check_hints(Report& report) {
  AskedHints asked = HintSources().asked_for("file");
  HintSet set;
  apply_hints(set, asked.hints, HintTime::kOpen);
  for (const HintNote& note : set.notes) {
    if (note.origin.ours && !note.applied()) asked.problems.push_back(origin_text(note.origin) + ": " + note.key + "=" + note.value + ": " + note.why_not);
  }
  for (const std::string& problem : asked.problems) report.problem("hints", problem);
}

Words preloaded() {
  std::string preloads = environment("LD_PRELOAD");
  std::replace(preloads.begin(), preloads.end(), ':', ' ');
  std::istringstream words(preloads);
  return {std::istream_iterator<std::string>(words), {}};
}

void check_preloads(Report& report) {
  std::string first;
  for (const std::string& word : preloaded()) {
    const std::string path = resolved(word);
    if (word.find('/') != std::string::npos && path.empty()) report.problem("LD_PRELOAD", word + ": no such file; the loader goes on without it");
    if (!is_mercutio(word) || path.empty()) continue;
    if (!first.empty() && path != first) report.problem("LD_PRELOAD", word + " is a second Mercutio; the first is used: " + first);
    if (first.empty()) first = path;
  }
}

void check_environment(Report& report) {
  std::printf("Environment\n");
  bool any = false;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    const bool ours = name.rfind("MERCUTIO_", 0) == 0;
    if (!ours && name != "ROMIO_HINTS" && name != "LD_PRELOAD") continue;
    any = true;
    const std::string value = text.substr(std::min(text.size(), name.size() + 1));
    if (name == "MERCUTIO_DISABLE" && !value.empty() && value != "0") {
      report.note("environment", text + ": Mercutio stands aside, the MPI's own I/O is used");
    } else if (const std::string why = why_useless(name, value); !why.empty()) {
      report.problem("environment", text + ": " + why);
    } else if (const char* one[] = {*entry, nullptr}; unknown_variables(one).empty()) {
      report.ok("environment", text);
    }
  }
  for (const std::string& unknown : unknown_variables(environ)) report.problem("environment", unknown);
  check_preloads(report);
  check_hints(report);
  if (!any) report.ok("environment", "no MERCUTIO_*, ROMIO_HINTS or LD_PRELOAD is set");
}

// Tools that watch a program's calls, by their libraries. One that looks for MPI's functions behind itself has to come before Mercutio.
struct Tool {
  const char* library;
  const char* name;
  bool looks_behind;
};
constexpr Tool kTools[] = {{"libdarshan", "Darshan", true}, {"libscorep", "Score-P", false}, {"libTAU", "TAU", false},
                           {"libmpitrace", "Extrae", false}, {"libipm", "IPM", false},       {"libmpiP", "mpiP", false}};

void check_tools(Report& report) {
  bool behind = false;
  for (const std::string& word : preloaded()) {
    const std::string file = base_name(word);
    behind = behind || file.rfind("libmercutio", 0) == 0;
    for (const Tool& tool : kTools) {
      if (file.rfind(tool.library, 0) != 0) continue;
      if (behind && tool.looks_behind)
        report.problem("tool", std::string(tool.name) + " comes after Mercutio in LD_PRELOAD and sees none of the program's MPI-IO: put Mercutio last");
      else
        report.ok("tool", std::string(tool.name) + (behind ? ", after Mercutio" : ", before Mercutio") + " (" + word + ")");
    }
  }
}

void check_launchers(Report& report) {
  std::printf("MPI on PATH\n");
  std::set<std::string> seen;
  static constexpr const char* kNames[] = {"mpirun",         "mpiexec", "mpirun.mpich", "mpiexec.hydra",
                                           "mpirun.openmpi", "prterun", "srun", "flux", "jsrun", "aprun", "mpirun_rsh"};
  for (const char* name : kNames) {
    const std::string path = find_on_path(name);
    if (path.empty() || !seen.insert(resolved(path)).second) continue;
    const LauncherKind kind = launcher_kind({path}, 0);
    if (kind != LauncherKind::kOpenMpi && kind != LauncherKind::kHydra) {
      report.note(name, path + " (" + (kind == LauncherKind::kNone ? "not a launcher we know" : launcher_name(kind)) + ")");
      continue;
    }
    const MpiLibrary library = library_of_launcher(path, kind == LauncherKind::kOpenMpi);
    std::string text = path + ", " + launcher_name(kind) + ", flavour " + library.flavour;
    if (library.path.empty())
      text += "; " + library.why;
    else
      text += ", " + library.path;
    const bool have = !find_library(backend_file(library.flavour)).empty();
    if (have)
      report.ok(name, text);
    else
      report.problem(name, text + "; " + backend_file(library.flavour) + " is not installed");
  }
  if (seen.empty()) report.note("mpirun", "no MPI launcher on PATH");
}

void check_machine(Report& report, const std::string& directory) {
  std::printf("This machine\n");
  report.add(check_directory(directory));
  report.add(check_locks(directory));
  report.add(check_preallocation(directory));
  report.add(check_io_uring());
  report.add(check_shared_memory());
}

std::map<std::string, std::string> key_values(const std::string& text) {
  std::map<std::string, std::string> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto equals = line.find('=');
    if (equals != std::string::npos) values.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return values;
}

std::string last_lines(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : "..." + text.substr(text.size() - most);
}

// What another node sees: plain writes, past the caches, locks, sizes.
void judge_coherence(Report& report, std::map<std::string, std::string>& values) {
  if (values.count("nodes") == 0) return;
  if (values["nodes"] == "1") {
    report.note("other nodes", "the first and the last rank ran on one node: run it on two to see what nodes see of each other");
    return;
  }
  const std::string writes = values["writes_seen"];
  report.ok("other nodes", "see writes " + writes + "; with O_DIRECT they are " + values["direct"]);
  if (values["locks"] == "seen")
    report.ok("locks of nodes", "are respected by others");
  else
    report.note("locks of nodes", "are not respected by others: in atomic mode the ranks take turns, or it is refused (docs/centres/storage.md)");
  if (values["sizes"] != "seen") report.note("sizes", "that another node has changed are not seen");
  if (writes != "at once" && values["direct"] != "seen" && writes != "after a lock")
    report.problem("coherence", "nothing makes nodes see each other's writes here: write from the ranks of one node (docs/centres/storage.md)");
}

i64 count_of(const std::string& text, const std::string& part) {
  i64 count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

// Where the probe was ended before it removed its files: those, by their names, in the folder that it had made.
void remove_rest(const Output& output, const std::string& directory) {
  const std::string folder = key_values(output.text)["folder"], begin = directory + "/.mercutio-doctor-";
  if (folder.rfind(begin, 0) != 0 || folder.find('/', begin.size()) != std::string::npos) return;
  for (const char* name : {"/round_trip", "/coherence"}) ::unlink((folder + name).c_str());
  ::rmdir(folder.c_str());
}

void judge_probe(Report& report, const Output& output, const std::string& library) {
  auto values = key_values(output.text);
  if (values.count("version") == 0) {
    const std::string why = values.count("trouble") ? values["trouble"] : last_lines(output.text, 600);
    report.problem("run", "the probe did not start (exit code " + std::to_string(output.exit_code) + "): " + why);
    return;
  }
  report.ok("MPI", values["version"]);
  if (const i64 jobs = count_of("\n" + output.text, "\nversion="); jobs > 1)   // a round trip of theirs on one file says nothing
    return report.problem("ranks", std::to_string(jobs) + " processes that did not find each other, each a job of " + values["ranks"] +
                                       ": the launcher must be of the same MPI as the program");
  report.ok("ranks", values["ranks"]);
  if (values["threads"] == "MULTIPLE")
    report.ok("threads", "MPI_THREAD_MULTIPLE: nonblocking accesses go on beside the program");
  else
    report.note("threads",
                "MPI_THREAD_" + values["threads"] +
                    " at most: nonblocking accesses go on beside the program within a node; between nodes under Open MPI in "
                    "calls that wait, under others in the call that starts them");
  const std::string directory = directory_of(library);
  const bool disabled = !environment("MERCUTIO_DISABLE").empty() && environment("MERCUTIO_DISABLE") != "0";
  const std::string without = no_backend(output.text);
  if (!without.empty())
    report.problem("backend", without + " Install on all nodes what it asks for, or Mercutio again for this MPI");
  else if (resolved(values["supplier"]).rfind(directory + "/", 0) == 0)
    report.ok("MPI_File_*", "from " + values["supplier"]);
  else
    report.problem("MPI_File_*",
                   "from " + values["supplier"] + ", not from Mercutio: the preload did not reach the ranks");
  if (values["round_trip"] == "ok") {
    report.ok("round trip",
              std::string("written and read back") + (disabled ? " by the MPI's own I/O (MERCUTIO_DISABLE)" : without.empty() ? "" : " by the MPI's own I/O"));
  } else {
    report.problem("round trip", values["round_trip"]);
  }
  judge_coherence(report, values);
}

// Unless an option has the ranks look for it elsewhere.
bool is_missing(const Words& command, int program_at) {
  static constexpr const char* kElsewhere[] = {"-wdir", "--wdir", "-wd", "--wd", "-path", "--path", "-D", "--chdir", "--preload-binary"};
  const bool elsewhere = std::any_of(command.begin(), command.begin() + program_at, [](const std::string& word) {
    return std::any_of(std::begin(kElsewhere), std::end(kElsewhere), [&](const std::string& option) { return word == option || word.rfind(option + "=", 0) == 0; });
  });
  return !elsewhere && find_on_path(command[static_cast<std::size_t>(program_at)]).empty();
}

// Replaces the program of the user's line by the probe and runs it, preloaded as `mercutio run` would.
void check_run(Report& report, const DoctorOptions& options) {
  std::printf("A run\n");
  const Words& command = options.command;
  const int at = find_launcher(command);
  const LauncherKind kind = launcher_kind(command, at);
  const int program_at = at < 0 ? 0 : find_program(kind, command, at);
  const bool has_program = program_at < static_cast<int>(command.size());
  if (at >= 0) report.ok("launcher", command[at] + ": " + launcher_name(kind));
  MpiLibrary library;
  if (has_program) library = library_of_program(command[program_at]);
  if (has_program && library.path.empty()) report.add({is_missing(command, program_at) ? Verdict::kProblem : Verdict::kNote, "program", library.why});
  if (at >= 0)
    if (const std::string wrong = wrong_launcher(command[at], kind, library.flavour); !wrong.empty()) report.problem("launcher", wrong);
  if (library.path.empty() && library.flavour.empty() && at >= 0) {
    library = library_of_launcher(command[at], kind == LauncherKind::kOpenMpi);
  }
  if (library.path.empty()) return report.problem("MPI library", library.why);
  report.ok("MPI library", library.path + " (" + library.why + ")");
  const std::string backend = find_library(backend_file(library.flavour));
  if (backend.empty()) return report.problem("flavour", backend_file(library.flavour) + " is not installed");
  report.ok("flavour", library.flavour + ", " + backend);

  const std::string trampoline = find_library(kTrampoline), probe = own_directory() + "/mercutio-probe";
  Words line(command.begin(), command.begin() + program_at);
  line.insert(line.end(), {probe, library.path, library.flavour, options.directory});
  if (at >= 0) {
    line = add_variables(kind, line, at, {{"LD_PRELOAD", trampoline}});
  } else {
    line.insert(line.begin(), {"env", "LD_PRELOAD=" + trampoline});
  }
  const SignalHold hold;
  const Output output = capture(line, 60);
  remove_rest(output, options.directory);
  judge_probe(report, output, trampoline);
}

// Drivers in libraries of their own: they are loaded, as an open would do.
void check_drivers(Report& report) {
  const std::vector<std::string> names = installed_drivers();
  if (names.empty()) return;
  std::printf("Storage drivers\n");
  for (const std::string& name : names) {
    const Result<mercutio_driver> driver = load_driver(name);
    if (driver)
      report.ok(name + ":", find_driver_library(name));
    else if (driver.error().sys_errno == ENOSYS)   // what it needs isn't installed: only who uses it wants that
      report.note(name + ":", driver.error().what);
    else
      report.problem(name + ":", driver.error().what);
  }
}

}  // namespace

int doctor(const DoctorOptions& options) {
  Report report;
  check_installation(report);
  check_environment(report);
  check_tools(report);
  check_launchers(report);
  check_machine(report, options.directory);
  check_drivers(report);
  if (!options.command.empty()) check_run(report, options);
  return report.finish();
}

}  // namespace mercutio::tool
