#include "mpi_install.h"

#include <unistd.h>

#include <cctype>

#include "process.h"

namespace mercutio::tool {
namespace {

// The first thing that looks like a version: digits with a dot.
std::string version_in(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!std::isdigit(static_cast<unsigned char>(text[i]))) continue;
    const std::size_t end = text.find_first_not_of("0123456789.", i);
    const std::string number = text.substr(i, end == std::string::npos ? end : end - i);
    if (number.find('.') != std::string::npos) return number;
    i += number.size();
  }
  return "";
}

// mpirun.mpich has mpicc.mpich beside it, mpirun has mpicc.
std::string compiler_of(const Mpi& mpi) {
  const std::string name = base_name(mpi.launcher);
  const auto dot = name.find('.');
  if (dot != std::string::npos && name.substr(dot) != ".hydra") {
    const std::string path = find_on_path(mpi.folder + "/mpicc" + name.substr(dot));
    if (!path.empty()) return path;
  }
  return find_on_path(mpi.folder + "/mpicc");
}

// An empty list: something is missing.
Words source_paths(const std::string& folder, const Words& sources) {
  const std::string where = resolved(own_directory() + "/../share/mercutio/" + folder);
  Words files;
  for (const std::string& stem : sources) {
    const std::string path = where + "/" + stem + ".c";
    if (where.empty() || resolved(path).empty()) return {};
    files.push_back(path);
  }
  return files;
}

}  // namespace

Mpi describe_mpi(const std::string& launcher) {
  Mpi mpi;
  mpi.launcher = launcher;
  mpi.folder = directory_of(launcher);
  // Intel's mpirun is a script that needs its set-up script to have run; the
  // launcher behind it does not.
  const std::string behind = find_on_path(mpi.folder + "/mpiexec.hydra");
  if (!find_on_path(mpi.folder + "/impi_info").empty() && !behind.empty()) mpi.launcher = behind;
  const std::string text = capture({mpi.launcher, "--version"}, 20).text;
  mpi.kind = classify_launcher(launcher, text);
  const std::string family = mpi.kind == LauncherKind::kOpenMpi        ? "openmpi"
                             : text.find("Intel") != std::string::npos ? "impi"
                                                                       : "mpich";
  mpi.name = family + "-" + version_in(text);
  const std::string prefix = directory_of(mpi.folder);
  if (prefix != "/usr" && prefix != "/usr/local" && prefix != "/" && !resolved(prefix + "/lib").empty()) {
    mpi.prefix = resolved(prefix);
  }
  return mpi;
}

Words surroundings(const Mpi& mpi, bool crowded) {
  Words words = {"env"};
  if (!mpi.prefix.empty()) {
    const std::string before = environment("LD_LIBRARY_PATH");
    words.push_back("LD_LIBRARY_PATH=" + mpi.prefix + "/lib" + (before.empty() ? "" : ":" + before));
    if (mpi.kind == LauncherKind::kOpenMpi) words.push_back("OPAL_PREFIX=" + mpi.prefix);
    if (mpi.name.rfind("impi", 0) == 0) words.push_back("I_MPI_ROOT=" + mpi.prefix);
  }
  if (mpi.kind == LauncherKind::kOpenMpi && geteuid() == 0) {
    words.insert(words.end(), {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"});
  }
  if (mpi.kind == LauncherKind::kHydra && crowded) words.push_back("MPIR_CVAR_CH4_PROGRESS_THROTTLE=1");
  return words;
}

std::string compile_program(const Mpi& mpi, const std::string& folder, const Words& sources, const std::string& program) {
  if (!resolved(program).empty()) return "";
  const Words files = source_paths(folder, sources);
  const std::string compiler = compiler_of(mpi);
  if (files.empty()) return "the sources of the program are not installed (share/mercutio/" + folder + ")";
  if (compiler.empty()) return mpi.name + ": no mpicc beside " + mpi.launcher;
  Words line = surroundings(mpi, false);
  line.insert(line.end(), {compiler, "-std=gnu11", "-O2"});
  line.insert(line.end(), files.begin(), files.end());
  line.insert(line.end(), {"-o", program, "-ldl", "-lm"});
  const Output output = capture(line, 120);
  return output.exit_code == 0 ? "" : mpi.name + ": " + compiler + " failed: " + output.text.substr(0, 300);
}

}  // namespace mercutio::tool
