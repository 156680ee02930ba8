#include "run.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/common.h"
#include "locate.h"
#include "process.h"

extern char** environ;

namespace mercutio::tool {
namespace {

// What the ranks read of other MPI-IOs' variables.
bool is_hint_variable(const std::string& name) {
  return name == "ROMIO_HINTS" || name == "ROMIO_PRINT_HINTS" || name.rfind("MPICH_MPIIO_HINTS", 0) == 0;
}

// Into this process's environment, from where it goes the way of all MERCUTIO_* variables.
void ask_for_trace(const RunOptions& options) {
  if (!options.report.empty()) setenv("MERCUTIO_REPORT", options.report.c_str(), 1);
  if (!options.trace.empty()) setenv("MERCUTIO_TRACE", options.trace.c_str(), 1);
}

}  // namespace

LauncherKind launcher_kind(const Words& command, int at) {
  if (at < 0) return LauncherKind::kNone;
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
  if (options.command.empty()) {
    std::fprintf(stderr, "mercutio run: nothing to run; for example: mercutio run -- mpirun -n 4 ./app\n");
    return 2;
  }
  const std::string library = find_library(kTrampoline);
  if (library.empty()) {
    std::fprintf(stderr, "mercutio: libmercutio.so was not found in %s\n", library_directories().front().c_str());
    return 1;
  }
  ask_for_trace(options);
  const int at = find_launcher(options.command);
  const Variables variables = variables_for_ranks(library, options.hints);
  const LauncherKind kind = launcher_kind(options.command, at);
  const Words line = add_variables(kind, options.command, at, variables);
  if (options.print) {
    if (kind == LauncherKind::kNone) {
      for (const auto& [name, value] : variables) std::printf("%s=%s ", name.c_str(), value.c_str());
    }
    std::printf("%s\n", joined(line, " ").c_str());
    return 0;
  }
  if (kind == LauncherKind::kNone) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  }
  const int error = become(line);
  std::fprintf(stderr, "mercutio run: %s: %s\n", line[0].c_str(), std::strerror(error));
  return error == ENOENT ? 127 : 126;
}

}  // namespace mercutio::tool
