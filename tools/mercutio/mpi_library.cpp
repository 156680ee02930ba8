// libmpi.so.40 is Open MPI's name, libmpi.so.12 and libmpich.so.12 are the MPICH family's, libmpi_abi.so.1 is the
// standard's.
#include "mpi_library.h"

#include <sstream>

#include "process.h"

namespace mercutio::tool {
namespace {

// The path ld.so's cache has for a library name.
std::string from_linker_cache(const std::string& name) {
  for (const char* tool : {"/sbin/ldconfig", "/usr/sbin/ldconfig"}) {
    const Output cache = capture({tool, "-p"}, 10);
    std::istringstream lines(cache.text);
    for (std::string line; std::getline(lines, line);) {
      const auto arrow = line.find(" => ");
      if (arrow != std::string::npos && line.find("\t" + name + " ") == 0) return line.substr(arrow + 4);
    }
  }
  return "";
}

}  // namespace

std::string flavour_of_library(const std::string& file_name) {
  const std::string name = base_name(file_name);
  const auto begins = [&](const char* prefix) { return name.rfind(prefix, 0) == 0; };
  if (begins("libmpi_abi.so")) return "abi";
  if (begins("libmpi.so.40") || begins("libmpi.so.20")) return "openmpi";
  if (begins("libmpich.so") || begins("libmpi.so.12")) return "mpich";
  return "";
}

MpiLibrary library_of_program(const std::string& program) {
  const std::string path = find_on_path(program);
  if (path.empty()) return {"", "", program + " was not found"};
  const Output listing = capture({"ldd", path}, 20);
  std::istringstream lines(listing.text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, arrow, where;
    words >> name >> arrow >> where;
    const std::string flavour = flavour_of_library(name);
    if (flavour.empty()) continue;
    if (where.empty() || where[0] != '/')
      return {"", flavour, program + " needs " + name + ", which ld.so does not find"};
    return {where, flavour, program + " is linked to it"};
  }
  if (listing.text.find("not a dynamic executable") != std::string::npos ||
      listing.text.find("statically linked") != std::string::npos) {
    return {"", "",
            program + " is a script or linked statically; a static program must be linked again with -lmercutio"};
  }
  return {"", "", program + " is not linked to an MPI library (it may load one later, as Python does)"};
}

MpiLibrary library_of_launcher(const std::string& launcher, bool is_openmpi) {
  static constexpr const char* kOpenMpiNames[] = {"libmpi.so.40"};
  static constexpr const char* kMpichNames[] = {"libmpich.so.12", "libmpi.so.12"};
  const char* const* begin = is_openmpi ? std::begin(kOpenMpiNames) : std::begin(kMpichNames);
  const char* const* end = is_openmpi ? std::end(kOpenMpiNames) : std::end(kMpichNames);
  const std::string found = resolved(find_on_path(launcher)), prefix = directory_of(directory_of(found));
  for (const char* const* name = begin; name != end && !found.empty(); ++name) {
    for (const char* folder : {"/lib/", "/lib64/", "/lib/release/"}) {
      const std::string path = resolved(prefix + folder + *name);
      if (!path.empty()) return {path, flavour_of_library(*name), "found beside the launcher"};
    }
  }
  for (const char* const* name = begin; name != end; ++name) {
    const std::string path = from_linker_cache(*name);
    if (!path.empty()) return {path, flavour_of_library(*name), "found by ld.so"};
  }
  return {"", is_openmpi ? "openmpi" : "mpich", "no MPI library found beside the launcher or by ld.so"};
}

std::string wrong_launcher(const std::string& launcher, LauncherKind kind, const std::string& flavour) {
  const bool openmpi = kind == LauncherKind::kOpenMpi, mpich = kind == LauncherKind::kHydra || kind == LauncherKind::kRsh;
  if (!(openmpi && flavour == "mpich") && !(mpich && flavour == "openmpi")) return "";
  return launcher + " is a launcher of " + launcher_name(kind) + ", but the program is linked to " + (openmpi ? "MPICH or one like it" : "Open MPI") +
         ": start it with the mpirun of that MPI" + (openmpi ? " (mpirun.mpich, mpiexec.hydra)" : " (mpirun.openmpi)");
}

}  // namespace mercutio::tool
