// The MPIs on PATH (or those that were named), each with its compiler wrapper
// beside its launcher.
#include "contender.h"

#include <algorithm>
#include <set>
#include <thread>

#include "../locate.h"
#include "../mpi_install.h"
#include "../mpi_library.h"
#include "../process.h"

namespace mercutio::tool {
namespace {

std::vector<Mpi> find_mpis(const BenchOptions& options, Words& remarks) {
  static constexpr const char* kNames[] = {"mpirun.mpich", "mpirun.openmpi", "mpirun", "mpiexec"};
  Words names = options.launchers;
  if (names.empty()) names.assign(std::begin(kNames), std::end(kNames));
  std::set<std::string> seen;
  std::vector<Mpi> mpis;
  for (const std::string& name : names) {
    const std::string path = find_on_path(name);
    if (path.empty() || !seen.insert(resolved(path)).second) {
      if (path.empty() && !options.launchers.empty()) remarks.push_back(name + " was not found");
      continue;
    }
    Mpi mpi = describe_mpi(path);
    if (mpi.kind != LauncherKind::kOpenMpi && mpi.kind != LauncherKind::kHydra) {
      remarks.push_back(path + " is not an MPI launcher that bench knows");
      continue;
    }
    const auto same = [&](const Mpi& other) { return other.name == mpi.name; };
    if (std::any_of(mpis.begin(), mpis.end(), same)) {
      if (options.launchers.empty()) continue;
      mpi.name += "-" + std::to_string(mpis.size() + 1);
    }
    mpis.push_back(mpi);
  }
  return mpis;
}

std::string compile(const Mpi& mpi, const MeasuringProgram& measuring, const std::string& scratch, Words& remarks) {
  const std::string program = scratch + "/" + measuring.name + "-" + mpi.name;
  const std::string why = compile_program(mpi, "bench", measuring.sources, program);
  if (why.empty()) return program;
  remarks.push_back(why);
  return "";
}

// The name of the ROMIO component inside this Open MPI; empty when it has none.
std::string embedded_romio(const Mpi& mpi) {
  Words line = surroundings(mpi, false);
  line.insert(line.end(), {mpi.folder + "/ompi_info", "--parsable"});
  const std::string text = capture(line, 30).text, mark = "mca:io:romio";
  const auto at = text.find(mark);
  if (at == std::string::npos) return "";
  return text.substr(at + 7, text.find(':', at + 7) - at - 7);
}

// MPICH over UCX polls without yielding; with more ranks than cores every small
// collective then costs scheduler quanta. Both sides get the same remedy.
std::string find_shim(const BenchOptions& options, bool crowded, Words& remarks) {
  if (options.shim == "none" || (options.shim == "auto" && !crowded)) return "";
  if (options.shim != "auto") return resolved(options.shim);
  const std::string path = find_rank_library("libmpich_yield.so");
  if (!path.empty()) {
    remarks.push_back("more ranks than cores: MPICH's polling yields in all its runs (libmpich_yield.so)");
    return path;
  }
  remarks.push_back("more ranks than cores, and no libmpich_yield.so: MPICH's figures are those of a busy machine");
  return "";
}

bool takes_part(const BenchOptions& options, const std::string& io) {
  return (options.io.empty() && io != "traced" && io != "recorded") || std::find(options.io.begin(), options.io.end(), io) != options.io.end();
}

struct Setting {
  const BenchOptions& options;
  const MeasuringProgram& measuring;
  std::string program, shim, library;
  bool crowded;
};

// What serves the calls of this contender: a libmercutio.so or, for the MPI's own I/O, nothing.
std::string library_of(const std::string& io, const Setting& setting) {
  if (io == "host" || io == "romio") return "";
  return io == "against" ? resolved(setting.options.against) : setting.library;
}

Contender make_contender(const Mpi& mpi, const std::string& io, const Setting& setting, const Words& launcher_options) {
  const bool traced = io == "traced", recorded = io == "recorded";
  const std::string mercutio = library_of(io, setting), given = environment("LD_PRELOAD");
  const bool ours = !mercutio.empty();
  std::string preload = without_mercutio(given);
  if (!setting.shim.empty()) preload = append_preload(setting.shim, preload);
  for (const std::string& library : setting.measuring.preloads) preload = append_preload(library, preload);
  if (ours) preload = append_preload(mercutio, preload);
  Words line = surroundings(mpi, setting.crowded);
  line.push_back(mpi.launcher);
  const int at = static_cast<int>(line.size()) - 1;
  if (mpi.kind == LauncherKind::kOpenMpi && setting.crowded) line.push_back("--oversubscribe");
  line.insert(line.end(), launcher_options.begin(), launcher_options.end());
  line.insert(line.end(), {"-n", std::to_string(setting.options.ranks), setting.program});
  for (const std::string& hint : ours ? setting.options.hints : setting.options.host_hints) {
    line.insert(line.end(), {"--hint", hint});
  }
  Variables variables = setting.measuring.variables;
  if (!preload.empty() || !given.empty()) variables.emplace_back("LD_PRELOAD", preload);
  variables.emplace_back("MERCUTIO_DISABLE", ours ? "0" : "1");
  if (traced) variables.emplace_back("MERCUTIO_TRACE", setting.program + ".mtrace");
  const std::string site = environment("MERCUTIO_SITE");
  if (ours) variables.emplace_back("MERCUTIO_SITE", !recorded ? "off" : site.empty() ? setting.program + "-%j" : site);
  return {mpi.name, io, add_variables(mpi.kind, line, at, variables), mercutio};
}

// Adds those that Mercutio serves, where the libraries are there.
void add_ours(const Mpi& mpi, const Setting& setting, Field& field) {
  const std::string linked = library_of_program(setting.program).flavour;
  const std::string flavour = !linked.empty() ? linked : mpi.kind == LauncherKind::kOpenMpi ? "openmpi" : "mpich";
  Words wanted;
  for (const char* io : {"mercutio", "traced", "recorded"}) {
    if (takes_part(setting.options, io)) wanted.push_back(io);
  }
  if (!setting.options.against.empty()) wanted.push_back("against");
  for (const std::string& io : wanted) {
    const std::string library = library_of(io, setting);
    if (!library.empty() && has_backend(library, flavour)) {
      field.contenders.push_back(make_contender(mpi, io, setting, {}));
      continue;
    }
    field.refused |= !setting.options.io.empty() || io == "against";
    if (!library.empty()) field.remarks.push_back(mpi.name + "/" + io + " is not measured: there is no " + backend_file(flavour) + " beside " + library);
  }
}

}  // namespace

MeasuringProgram pattern_program() {
  return {
      "mercutio-bench", {"main", "common", "side", "patterns", "irregular", "timing", "latency", "ior", "moved", "output"}, {}, {}};
}

static std::string supplier_in(const std::string& printed) {
  for (const std::string& line : split(printed, '\n')) {
    const FlatJson values = parse_flat_json(line);
    if (values.count("mpi") && values.count("io")) return values.at("io");
  }
  return "";
}

std::string why_another(const Contender& contender, const std::string& printed) {
  const std::string supplier = supplier_in(printed);
  if (supplier.empty()) return "";
  if (!no_backend(printed).empty()) return "Mercutio has no backend for this MPI, and its own I/O was used";
  if (contender.peer()) return is_mercutio(supplier) ? "its calls went to " + supplier : "";
  const std::string real = resolved(supplier);   // a tool between them hides it
  const bool another = !flavour_of_library(supplier).empty() || (is_mercutio(supplier) && !real.empty() && real != contender.library);
  return another ? "its calls went to " + supplier + ", not to " + contender.library : "";
}

std::string find_rank_library(const std::string& file_name) {
  const bool in_build_tree = !resolved(own_directory() + "/../CMakeCache.txt").empty();
  return resolved(own_directory() + (in_build_tree ? "/../tests/tools/" : "/../libexec/mercutio/") + file_name);
}

Field find_contenders(const BenchOptions& options, const MeasuringProgram& measuring, const std::string& scratch) {
  Field field;
  const bool crowded = options.ranks > static_cast<int>(std::thread::hardware_concurrency());
  const auto& [library, why_not] = library_to_preload();
  if (library.empty()) field.remarks.push_back(why_not + ": the hosts are measured alone");
  std::string shim;
  bool searched = false;
  for (const Mpi& mpi : find_mpis(options, field.remarks)) {
    if (stop_wanted()) break;
    const std::string program = compile(mpi, measuring, scratch, field.remarks);
    if (program.empty()) continue;
    const bool is_mpich = mpi.name.rfind("mpich", 0) == 0;
    if (is_mpich && !searched) shim = find_shim(options, crowded, field.remarks), searched = true;
    const Setting setting{options, measuring, program, is_mpich ? shim : "", library, crowded};
    if (field.program.empty()) {
      field.program = surroundings(mpi, false);
      field.program.push_back(program);
    }
    if (takes_part(options, "host")) field.contenders.push_back(make_contender(mpi, "host", setting, {}));
    const std::string romio = mpi.kind == LauncherKind::kOpenMpi ? embedded_romio(mpi) : "";
    if (!romio.empty() && takes_part(options, "romio")) {
      field.contenders.push_back(make_contender(mpi, "romio", setting, {"--mca", "io", romio}));
    }
    add_ours(mpi, setting, field);
  }
  return field;
}

}  // namespace mercutio::tool
