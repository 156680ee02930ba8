#include "run.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <tuple>

#include "base/shell_word.h"
#include "bench/common.h"
#include "locate.h"
#include "mpi_library.h"
#include "process.h"
#include "trace_file.h"

namespace mercutio::tool {
namespace {

// What the ranks read of other MPI-IOs' variables.
bool is_hint_variable(const std::string& name) {
  return name == "ROMIO_HINTS" || name == "ROMIO_PRINT_HINTS" || name.rfind("MPICH_MPIIO_HINTS", 0) == 0;
}

// Names are from here, wherever a script goes.
std::string value_asked(const std::string& path) {
  std::error_code none;
  const std::string whole = path.empty() || path == "1" ? path : std::filesystem::absolute(path, none).string();
  return none ? path : whole;
}

// Into this process's environment, from where it goes the way of all MERCUTIO_* variables.
void ask_for_trace(const RunOptions& options) {
  for (const auto& [name, path] : {std::pair("MERCUTIO_REPORT", options.report), std::pair("MERCUTIO_TRACE", options.trace)})
    if (!path.empty()) setenv(name, value_asked(path).c_str(), 1);
}

// Another `mercutio run`, of which this one is the command or a part of it: what it asked for, and its marks (class Marks). What this one asks for wins.
class Outer {
 public:
  explicit Outer(const RunOptions& options) : path_(environment("MERCUTIO_MARKS")) {
    const auto wins = [](const std::string& mine, const char* theirs) { return !mine.empty() && !environment(theirs).empty() && environment(theirs) != value_asked(mine); };
    if (wins(options.report, "MERCUTIO_REPORT")) marks_ += 'r';
    if (wins(options.trace, "MERCUTIO_TRACE")) marks_ += 't';
  }
  void tell(const std::string& jobs) const {
    const int file = path_.starts_with("/") ? ::open(path_.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    if (file < 0) return;
    const std::string all = jobs + marks_;
    (void)!::write(file, all.data(), all.size());
    ::close(file);
  }

 private:
  std::string path_, marks_ = "i";
};

struct FoundLauncher {
  int at = -1;   // in the command; -1: none
  LauncherKind kind = LauncherKind::kNone;
};

// Whether the ranks have this working directory for certain: a script may go to another one.
bool stays_here(const Words& command, const FoundLauncher& launcher) {
  if (launcher.at != 0) return launcher.at < 0 && !library_of_program(command[0]).flavour.empty();
  return std::none_of(command.begin(), command.end(), [](const std::string& word) {
    const std::size_t name = std::min(word.find_first_not_of('-'), word.size());
    const std::string option = word.substr(name, word.find('=') - name);
    return name > 0 && (option == "wdir" || option == "wd" || option == "chdir" || option.starts_with("D"));
  });
}

// What is wrong with the options, before anything starts. Empty: nothing.
std::string mistake_in(const RunOptions& options, const FoundLauncher& launcher) {
  if (options.command.empty()) return "nothing to run; for example: mercutio run -- mpirun -n 4 ./app";
  if (const std::string why = why_none_is_reached(launcher.kind, options.command, launcher.at); !why.empty()) return why;
  if (options.command.size() > 1 && options.command[1] == "--" && (options.report == "1" || options.trace == "1")) {
    const char* const option = options.report == "1" ? "--report=" : "--trace=";
    return options.command[0] + " is no program; the name of a file needs an equals sign: " + option + options.command[0];
  }
  if (options.trace == "1" && stays_here(options.command, launcher)) {   // where the trace is then written
    if (const std::string why = why_not_writable("./"); !why.empty()) return "no trace can be written to the current directory: " + why + "; --trace=FILE names another place";
  }
  for (const std::string* path : {&options.report, &options.trace}) {
    if (*path == "1") continue;
    if (const std::string why = why_not_writable(*path); !why.empty()) return *path + " can't be written: " + why;
    if (const std::string why = why_not_overwritten(*path, path == &options.report); !why.empty()) return *path + " is not overwritten: " + why;
  }
  return "";
}

// A program that is linked without a loader takes no preload.
bool is_static(const std::string& program) {
  const std::string path = find_on_path(program);
  std::FILE* const file = path.empty() ? nullptr : std::fopen(path.c_str(), "rb");
  if (!file) return false;
  Elf64_Ehdr header{};
  bool elf = std::fread(&header, sizeof header, 1, file) == 1 && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_phentsize == sizeof(Elf64_Phdr);
  bool interpreted = false;
  elf = elf && std::fseek(file, static_cast<long>(header.e_phoff), SEEK_SET) == 0;
  for (int i = 0; elf && i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    elf = std::fread(&segment, sizeof segment, 1, file) == 1;
    interpreted = interpreted || segment.p_type == PT_INTERP;
  }
  std::fclose(file);
  return elf && !interpreted;
}

// Where rank 0 leaves its marks: in the working directory, which the nodes of a job most likely share. A `mercutio run` inside this one adds its own: 'i';
// 'r' and 't' where it asked for another report or trace; and what its jobs left, as if they were one.
class Marks {
 public:
  Marks() : path_(resolved(".") + "/.mercutio-run-XXXXXX") {
    const int file = ::mkstemp(path_.data());
    if (file < 0) return;
    ::close(file);
    made_ = true;
    ::setenv("MERCUTIO_MARKS", path_.c_str(), 1);
  }
  ~Marks() {
    if (made_) ::unlink(path_.c_str());
  }
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;
  bool made() const { return made_; }
  bool has(char what) const { return count(what) > 0; }
  std::ptrdiff_t count(char what) const {
    const std::string text = all();
    return std::count(text.begin(), text.end(), what);
  }
  std::string kinds() const {
    std::string found;
    for (const char what : {'b', 's', 'e'}) found += has(what) ? std::string(1, what) : "";
    return found;
  }
  // The most that had begun and not ended.
  std::ptrdiff_t at_once() const {
    std::ptrdiff_t now = 0, most = 0;
    for (const char mark : all()) most = std::max(most, now += mark == 'b' ? 1 : mark == 'e' ? -1 : 0);
    return most;
  }

 private:
  std::string all() const {
    std::ifstream in(path_);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  std::string path_;
  bool made_ = false;
};

// Why there is no report and no trace, for a run that has ended.
std::string why_nothing(const RunOptions& options, const FoundLauncher& launcher, const Marks& marks) {
  const std::string disabled = environment("MERCUTIO_DISABLE");
  if (!disabled.empty() && disabled != "0") return "MERCUTIO_DISABLE=" + disabled + " is set, so the program used the I/O of its own MPI";
  for (const std::string& word : options.command) {   // of env, or behind -x
    if (word.starts_with("MERCUTIO_DISABLE=") && word != "MERCUTIO_DISABLE=0" && word != "MERCUTIO_DISABLE=")
      return word + " is in the command, so the program used the I/O of its own MPI";
  }
  const std::string left = environment("MERCUTIO_TRACE");
  if (marks.has('s'))
    return "MPI_Init was not seen, as in a program that uses sessions only, and so no MPI_Finalize; " +
           (left.empty() ? std::string("what each process did is in the pieces of a trace: use --trace") : "what each process did is in the trace's pieces: mercutio report " + left);
  if (marks.has('b')) return "the program ended before MPI_Finalize" + (left.empty() ? std::string() : "; what it did until then is in the trace's pieces: mercutio report " + left);
  const auto at = static_cast<std::size_t>(find_program(launcher.kind, options.command, launcher.at));
  const std::string program = at < options.command.size() ? options.command[at] : "";
  if (is_static(program)) return program + " is linked statically and takes no preload: link it again with -lmercutio in front of the MPI";
  return "no rank called MPI_Init with Mercutio loaded. Does the program use MPI, and does the launcher hand LD_PRELOAD on? `mercutio doctor -- ...` looks into it";
}

// Of one launcher, each process was a job of its own. Empty: it wasn't so, as where a script runs one job after the other.
std::string why_alone(const RunOptions& options, const FoundLauncher& launcher, const Marks& marks) {
  const std::ptrdiff_t jobs = launcher.at < 0 ? 1 : marks.count('b');
  if (jobs < 2) return "";
  const auto at = static_cast<std::size_t>(find_program(launcher.kind, options.command, launcher.at));
  const std::string& name = options.command[static_cast<std::size_t>(launcher.at)];
  const std::string flavour = at < options.command.size() ? library_of_program(options.command[at]).flavour : "";
  const std::string wrong = wrong_launcher(name, launcher.kind, flavour);
  if (wrong.empty() && marks.at_once() < 2) return "";
  return "the " + std::to_string(jobs) + " processes did not find each other, each was a job of one rank: " +
         (wrong.empty() ? name + " is most likely of another MPI than the program; `mercutio doctor -- ...` looks into it" : wrong);
}

// The program as a child, and a word if what was asked for did not come.
int run_and_see(const RunOptions& options, const Words& line, const FoundLauncher& launcher, const Marks& marks, const Outer& outer) {
  int error = 0;
  const int code = run_through(line, error);
  outer.tell(marks.kinds());
  if (error != 0) std::fprintf(stderr, "mercutio run: %s: %s\n", line[0].c_str(), std::strerror(error));
  if (const std::string why = why_alone(options, launcher, marks); !why.empty()) std::fprintf(stderr, "mercutio run: %s\n", why.c_str());
  for (const auto& [mark, path, what] : {std::tuple('r', options.report, "report"), std::tuple('t', options.trace, "trace")}) {
    if (marks.has('e') && marks.has(mark) && !path.empty())
      std::fprintf(stderr, "mercutio run: note: no %s%s%s: the mercutio run inside asked for one of its own\n", what, path == "1" ? "" : " ", path == "1" ? "" : path.c_str());
  }
  if (code == 126 || code == 127 || marks.has('e') || marks.has('i')) return code;
  const char* const what = options.report.empty() ? "trace" : options.trace.empty() ? "report" : "report and no trace";
  std::fprintf(stderr, "mercutio run: no %s: %s\n", what, why_nothing(options, launcher, marks).c_str());
  return code;
}

}  // namespace

LauncherKind launcher_kind(const Words& command, int at) {
  if (at < 0) return LauncherKind::kNone;
  if (const LauncherKind kind = known_by_name(command[at]); kind != LauncherKind::kNone) return kind;
  return classify_launcher(command[at], capture({command[at], "--version"}, 20).text);
}

Variables variables_for_ranks(const std::string& library, const Words& hints) {
  Variables variables;
  if (!library.empty()) variables.emplace_back("LD_PRELOAD", append_preload(library, environment("LD_PRELOAD")));
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if ((name.rfind("MERCUTIO_", 0) != 0 && !is_hint_variable(name)) || name == "MERCUTIO_LIBDIR") continue;
    if (name == "MERCUTIO_HINTS" && !hints.empty()) continue;
    variables.emplace_back(name, text.substr(name.size() + 1));
  }
  if (!hints.empty()) {
    const std::string before = environment("MERCUTIO_HINTS");
    variables.emplace_back("MERCUTIO_HINTS", (before.empty() ? "" : before + ";") + joined(hints, ";"));
  }
  return variables;
}

int run(const RunOptions& options) {
  const int at = find_launcher(options.command);
  const FoundLauncher launcher{at, launcher_kind(options.command, at)};   // may have been asked for its version, which takes time
  if (const std::string mistake = mistake_in(options, launcher); !mistake.empty()) {
    std::fprintf(stderr, "mercutio run: %s\n", mistake.c_str());
    return 2;
  }
  const auto& [library, why_not] = library_to_preload();
  if (library.empty()) {
    std::fprintf(stderr, "mercutio: %s\n", why_not.c_str());
    return 1;
  }
  const Outer outer(options);
  ask_for_trace(options);
  const bool asked = !options.report.empty() || !options.trace.empty();
  const std::optional<Marks> marks = asked && !options.print ? std::optional<Marks>(std::in_place) : std::nullopt;
  Variables variables = variables_for_ranks(library, options.hints);
  Words command = options.command;
  reach_into_containers(command, variables, library);
  const Words line = add_variables(launcher.kind, command, at, variables);
  if (options.print) {
    if (launcher.kind == LauncherKind::kNone) {
      for (const auto& [name, value] : variables) std::printf("%s=%s ", name.c_str(), shell_word(value).c_str());
    }
    for (const std::string& word : line) std::printf("%s%s", &word == &line.front() ? "" : " ", shell_word(word).c_str());
    std::puts("");
    return 0;
  }
  if (launcher.kind == LauncherKind::kNone) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  }
  if (marks && marks->made()) return run_and_see(options, line, launcher, *marks, outer);
  const int error = become(line);
  std::fprintf(stderr, "mercutio run: %s: %s\n", line[0].c_str(), std::strerror(error));
  return code_of_start(error);
}

}  // namespace mercutio::tool
