// The rewriting rules follow the manuals of Open MPI's mpirun, MPICH's hydra, Slurm's srun, flux-run, jsrun, aprun, MVAPICH's mpirun_rsh
// and Apptainer.
#include "launcher.h"

#include <algorithm>
#include <set>

#include "bench/common.h"
#include "process.h"

namespace mercutio::tool {
namespace {

constexpr const char* kPreload = "LD_PRELOAD";

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.rfind(prefix, 0) == 0;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool is_launcher(const std::string& word) {
  const std::string name = base_name(word);
  for (const char* known : {"srun", "orterun", "prterun", "jsrun", "aprun", "mpirun_rsh"})
    if (name == known) return true;
  for (const char* stem : {"mpirun", "mpiexec"}) {
    if (name == stem || starts_with(name, std::string(stem) + ".") || starts_with(name, std::string(stem) + "-"))
      return true;
  }
  return false;
}

bool is_wrapper(const std::string& word) {
  static constexpr const char* kWrappers[] = {"env",     "time",   "timeout", "nice",   "stdbuf",
                                              "numactl", "strace", "taskset", "setsid", "nohup", "salloc"};
  const std::string name = base_name(word);
  return std::any_of(std::begin(kWrappers), std::end(kWrappers), [&](const char* wrapper) { return name == wrapper; });
}

std::string join(const std::string& name, const std::string& value) {
  return name + "=" + value;
}

// Takes the words of the line that set LD_PRELOAD themselves out of play: ours goes behind their value.
std::string merged(const std::string& value, const std::string& name, const std::string& theirs) {
  return name == kPreload ? append_preload(value, theirs) : theirs;
}

// One application context: words[from, to). True when an option of these sets `name` itself, now with our value in it.
bool merge_option(Words& words, std::size_t from, std::size_t to, const Words& options, const std::pair<std::string, std::string>& variable) {
  const auto& [name, value] = variable;
  bool found = false;
  for (std::size_t i = from; i + 1 < to; ++i) {
    if (std::find(options.begin(), options.end(), words[i]) == options.end()) continue;
    std::string& word = words[i + 1];
    if (word == name) {
      word = join(name, value);
      found = true;
    } else if (starts_with(word, name + "=")) {
      word = join(name, merged(value, name, word.substr(name.size() + 1)));
      found = true;
    }
  }
  return found;
}

bool merge_hydra(Words& command, int at, const std::string& name, const std::string& value) {
  bool global = false;
  for (std::size_t i = at + 1; i + 1 < command.size(); ++i) {
    const bool is_global = command[i] == "-genv" || command[i] == "--genv";
    if (!is_global && command[i] != "-env" && command[i] != "--env") continue;
    std::string& word = command[i + 1];
    if (word == name && i + 2 < command.size()) {
      command[i + 2] = merged(value, name, command[i + 2]);
    } else if (starts_with(word, name + "=")) {
      word = join(name, merged(value, name, word.substr(name.size() + 1)));
    } else {
      continue;
    }
    global |= is_global;
  }
  return global;
}

// -x counts for its own context only, so each one (they are separated by ":") gets the variables. The last one first,
// so that the places of the others stay what they are.
Words with_openmpi(Words command, int at, const Variables& variables) {
  std::size_t to = command.size();
  for (std::size_t i = command.size(); i-- > static_cast<std::size_t>(at);) {
    if (command[i] != ":" && i != static_cast<std::size_t>(at)) continue;
    Words extra;
    for (const auto& variable : variables) {
      if (!merge_option(command, i + 1, to, {"-x", "--x"}, variable)) extra.insert(extra.end(), {"-x", join(variable.first, variable.second)});
    }
    command.insert(command.begin() + static_cast<long>(i) + 1, extra.begin(), extra.end());
    to = i;
  }
  return command;
}

Words with_option(Words command, int at, const Variables& variables, const Words& options) {
  Words extra;
  for (const auto& variable : variables) {
    if (!merge_option(command, static_cast<std::size_t>(at) + 1, command.size(), options, variable))
      extra.insert(extra.end(), {options.front(), join(variable.first, variable.second)});
  }
  command.insert(command.begin() + at + 1, extra.begin(), extra.end());
  return command;
}

// Rules count in their order, and some take variables away: ours come after all of the user's. In values $ begins a variable's name.
Words with_flux(Words command, int at, const Variables& variables) {
  std::size_t last = static_cast<std::size_t>(at) + 1;   // run or submit
  std::string theirs;
  for (std::size_t i = last + 1; i < command.size() && starts_with(command[i], "-"); ++i) {
    if (!starts_with(command[i], "--env")) continue;
    const std::size_t equals = command[i].find('=');
    const bool apart = equals == std::string::npos && i + 1 < command.size();
    const std::string rule = apart ? command[i + 1] : command[i].substr(equals + 1);
    if (starts_with(rule, join(kPreload, ""))) theirs = rule.substr(join(kPreload, "").size());
    last = apart ? ++i : i;
  }
  Words extra;
  for (const auto& [name, value] : variables) {
    std::string text = name == kPreload && !theirs.empty() ? merged(value, name, theirs) : value;
    for (std::size_t dollar = 0; (dollar = text.find('$', dollar)) != std::string::npos; dollar += 2) text.insert(dollar, 1, '$');
    extra.push_back("--env=" + join(name, text));
  }
  command.insert(command.begin() + static_cast<long>(last) + 1, extra.begin(), extra.end());
  return command;
}

bool sets_variable(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 && word.find_first_of("/-.:") > equals;
}

// Directly before the program, which comes after options, names of hosts where there is no host file, and the user's own variables.
Words with_rsh(Words command, int at, const Variables& variables) {
  auto place = static_cast<std::size_t>(find_program(command, at));
  while (place + 1 < command.size() && (sets_variable(command[place]) || find_on_path(command[place]).empty())) ++place;
  Words extra;
  for (const auto& [name, value] : variables) {
    const auto same = std::find_if(command.begin() + at, command.begin() + static_cast<long>(std::min(place, command.size())),
                                   [&, wanted = join(name, "")](const std::string& word) { return starts_with(word, wanted); });
    const bool set = same != command.begin() + static_cast<long>(std::min(place, command.size()));
    if (set) *same = join(name, merged(value, name, same->substr(name.size() + 1)));
    if (!set) extra.push_back(join(name, value));
  }
  command.insert(command.begin() + static_cast<long>(std::min(place, command.size())), extra.begin(), extra.end());
  return command;
}

Words with_hydra(Words command, int at, const Variables& variables) {
  Words extra;
  for (const auto& [name, value] : variables) {
    if (merge_hydra(command, at, name, value)) continue;
    extra.insert(extra.end(), {"-genv", name, value});
  }
  command.insert(command.begin() + at + 1, extra.begin(), extra.end());
  return command;
}

// What --export says, or else its variable, and takes it off the line. Empty: all.
Words limits_of_srun(Words& command, int at) {
  std::string list = environment("SLURM_EXPORT_ENV");
  for (std::size_t i = at + 1; i < command.size(); ++i) {
    const bool apart = command[i] == "--export" && i + 1 < command.size();
    if (!apart && !starts_with(command[i], "--export=")) continue;
    list = apart ? command[i + 1] : command[i].substr(std::string("--export=").size());
    command.erase(command.begin() + static_cast<long>(i), command.begin() + static_cast<long>(i) + (apart ? 2 : 1));
    break;
  }
  return list == "ALL" ? Words{} : split(list, ',');
}

// srun hands on its own environment; a value in --export counts only where that doesn't have the variable (Slurm 22.05), and may
// hold no comma. So the variables stand before srun, and --export names them if it limits what is handed on.
Words with_srun(Words command, int at, Variables variables) {
  Words limits = limits_of_srun(command, at);
  const bool limited = !limits.empty() && std::find(limits.begin(), limits.end(), "ALL") == limits.end();
  Words list = limited ? Words{} : Words{"ALL"};
  for (const std::string& item : limits) {
    const std::string name = item.substr(0, item.find('='));
    const auto ours = std::find_if(variables.begin(), variables.end(), [&](const auto& variable) { return variable.first == name; });
    if (ours == variables.end()) {
      if (item != "NONE" && item != "NIL" && item != "ALL") list.push_back(item);
    } else if (name.size() < item.size()) {
      ours->second = merged(ours->second, name, item.substr(name.size() + 1));
    }
  }
  Words before{"env"};
  for (const auto& [name, value] : variables) {
    before.push_back(join(name, value));
    if (limited) list.push_back(name);
  }
  if (!limits.empty()) command.insert(command.begin() + at + 1, "--export=" + joined(list, ","));
  if (!variables.empty()) command.insert(command.begin() + at, before.begin(), before.end());
  return command;
}

// Options that take the next word as their value; everything else that begins with a dash stands alone.
bool takes_value(const std::string& option) {
  static const std::set<std::string> kTakers = {"-n",
                                                "-np",
                                                "--np",
                                                "-c",
                                                "--n",
                                                "-N",
                                                "-npernode",
                                                "--npernode",
                                                "-ppn",
                                                "-perhost",
                                                "-host",
                                                "--host",
                                                "-H",
                                                "-hosts",
                                                "-f",
                                                "-hostfile",
                                                "--hostfile",
                                                "-machinefile",
                                                "--machinefile",
                                                "-x",
                                                "--map-by",
                                                "-map-by",
                                                "--bind-to",
                                                "-bind-to",
                                                "--rank-by",
                                                "-rank-by",
                                                "-wdir",
                                                "--wdir",
                                                "-wd",
                                                "-path",
                                                "--prefix",
                                                "-prefix",
                                                "-launcher",
                                                "-iface",
                                                "-envlist",
                                                "-genvlist",
                                                "--tag-output-to",
                                                "--timeout",
                                                "-p",
                                                "-A",
                                                "-t",
                                                "-w",
                                                "--oversubscribe-to"};
  return kTakers.count(option) != 0;
}

int words_of_option(const Words& command, std::size_t i) {
  const std::string& option = command[i];
  if (option == "-mca" || option == "--mca" || option == "--gmca" || option == "-gmca" || option == "--prtemca")
    return 3;
  if (option == "-config" || option == "-E" || option == "-e" || option == "--nrs" || option == "--cores") return 2;
  if (option == "-genv" || option == "--genv" || option == "-env" || option == "--env") {
    return i + 1 < command.size() && contains(command[i + 1], "=") ? 2 : 3;
  }
  return takes_value(option) ? 2 : 1;
}

}  // namespace

const char* launcher_name(LauncherKind kind) {
  switch (kind) {
    case LauncherKind::kOpenMpi:
      return "Open MPI";
    case LauncherKind::kHydra:
      return "hydra (MPICH, Intel MPI)";
    case LauncherKind::kSrun:
      return "Slurm";
    case LauncherKind::kFlux:
      return "Flux";
    case LauncherKind::kJsrun:
      return "jsrun";
    case LauncherKind::kAprun:
      return "aprun";
    case LauncherKind::kRsh:
      return "mpirun_rsh (MVAPICH)";
    case LauncherKind::kNone:
      break;
  }
  return "none";
}

int find_launcher(const Words& command) {
  if (command.empty()) return -1;
  const auto starts_ranks = [&](std::size_t i) {
    const bool flux = base_name(command[i]) == "flux" && i + 1 < command.size() && (command[i + 1] == "run" || command[i + 1] == "submit");
    return flux || is_launcher(command[i]);
  };
  if (starts_ranks(0)) return 0;
  if (!is_wrapper(command[0])) return -1;
  for (std::size_t i = 1; i < command.size(); ++i) {
    if (starts_ranks(i)) return static_cast<int>(i);
  }
  return -1;
}

LauncherKind known_by_name(const std::string& program) {
  const std::pair<const char*, LauncherKind> known[] = {{"srun", LauncherKind::kSrun}, {"flux", LauncherKind::kFlux}, {"jsrun", LauncherKind::kJsrun},
                                                        {"aprun", LauncherKind::kAprun}, {"mpirun_rsh", LauncherKind::kRsh}};
  for (const auto& [name, kind] : known)
    if (base_name(program) == name) return kind;
  return LauncherKind::kNone;
}

LauncherKind classify_launcher(const std::string& program, const std::string& version_text) {
  if (const LauncherKind kind = known_by_name(program); kind != LauncherKind::kNone) return kind;
  for (const char* mark : {"Open MPI", "OpenRTE", "PRTE", "PRRTE", "prterun"}) {
    if (contains(version_text, mark)) return LauncherKind::kOpenMpi;
  }
  for (const char* mark : {"HYDRA", "Hydra", "Intel(R) MPI", "MPICH", "mpich"}) {
    if (contains(version_text, mark)) return LauncherKind::kHydra;
  }
  const std::string name = base_name(program);
  if (name == "orterun" || name == "prterun") return LauncherKind::kOpenMpi;
  return contains(name, "hydra") ? LauncherKind::kHydra : LauncherKind::kNone;
}

Words add_variables(LauncherKind kind, const Words& command, int at, const Variables& variables) {
  switch (kind) {
    case LauncherKind::kOpenMpi:
      return with_openmpi(command, at, variables);
    case LauncherKind::kHydra:
      return with_hydra(command, at, variables);
    case LauncherKind::kSrun:
      return with_srun(command, at, variables);
    case LauncherKind::kFlux:
      return with_flux(command, at, variables);
    case LauncherKind::kJsrun:
      return with_option(command, at, variables, {"-E"});
    case LauncherKind::kAprun:
      return with_option(command, at, variables, {"-e"});
    case LauncherKind::kRsh:
      return with_rsh(command, at, variables);
    case LauncherKind::kNone:
      break;
  }
  return command;
}

std::string append_preload(const std::string& mine, const std::string& existing) {
  std::string result;
  std::size_t start = 0;
  while (start <= existing.size()) {
    const std::size_t end = std::min(existing.find_first_of(": ", start), existing.size());
    const std::string item = existing.substr(start, end - start);
    if (!item.empty() && item != mine) result += item + ":";
    start = end + 1;
  }
  return result + mine;
}

void reach_into_containers(Words& command, Variables& variables, const std::string& library) {
  std::string prefix;
  for (std::size_t i = 0; i + 1 < command.size(); ++i) {
    const std::string name = base_name(command[i]);
    if (name != "apptainer" && name != "singularity") continue;
    std::size_t verb = i + 1;
    while (verb < command.size() && command[verb] != "exec" && command[verb] != "run") ++verb;
    if (verb == command.size()) continue;
    command.insert(command.begin() + static_cast<long>(verb) + 1, {"--bind", directory_of(library)});
    prefix = name == "apptainer" ? "APPTAINERENV_" : "SINGULARITYENV_";
    i = verb + 2;
  }
  if (prefix.empty()) return;
  for (auto& [name, value] : variables) {
    name = prefix + name;
    value = name == prefix + kPreload ? append_preload(library, environment(name)) : value;
  }
}

std::string submits_script(const Words& command) {
  const std::string name = command.empty() ? "" : base_name(command[0]);
  for (const char* known : {"sbatch", "qsub", "bsub"}) {
    if (name == known) return name + " starts a script, and no rank. Put `mercutio run --` in the script, before srun or mpirun";
  }
  const bool flux = name == "flux" && command.size() > 1 && (command[1] == "batch" || command[1] == "alloc");
  return flux ? "flux " + command[1] + " starts a script, and no rank. Put `mercutio run --` in the script, before flux run" : "";
}

int find_program(const Words& command, int launcher_at) {
  std::size_t i = static_cast<std::size_t>(launcher_at + 1);
  if (launcher_at >= 0 && base_name(command[static_cast<std::size_t>(launcher_at)]) == "flux") ++i;
  while (i < command.size() && starts_with(command[i], "-")) i += static_cast<std::size_t>(words_of_option(command, i));
  return static_cast<int>(std::min(i, command.size()));
}

}  // namespace mercutio::tool
