// The rewriting rules follow the manuals of Open MPI's mpirun, MPICH's hydra and Slurm's srun.
#include "launcher.h"

#include <algorithm>
#include <set>

#include "bench/common.h"
#include "process.h"

namespace mercutio::tool {
namespace {

constexpr const char* kPreload = "LD_PRELOAD";

std::string base_name(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.rfind(prefix, 0) == 0;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool is_launcher(const std::string& word) {
  const std::string name = base_name(word);
  if (name == "srun" || name == "orterun" || name == "prterun") return true;
  for (const char* stem : {"mpirun", "mpiexec"}) {
    if (name == stem || starts_with(name, std::string(stem) + ".") || starts_with(name, std::string(stem) + "-"))
      return true;
  }
  return false;
}

bool is_wrapper(const std::string& word) {
  static constexpr const char* kWrappers[] = {"env",     "time",   "timeout", "nice",   "stdbuf",
                                              "numactl", "strace", "taskset", "setsid", "nohup"};
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

// One application context of Open MPI: words[from, to). True when it sets `name` itself, now with our value in it.
bool merge_openmpi(Words& words, std::size_t from, std::size_t to, const std::string& name, const std::string& value) {
  bool found = false;
  for (std::size_t i = from; i + 1 < to; ++i) {
    if (words[i] != "-x" && words[i] != "--x") continue;
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
    for (const auto& [name, value] : variables) {
      if (!merge_openmpi(command, i + 1, to, name, value)) extra.insert(extra.end(), {"-x", join(name, value)});
    }
    command.insert(command.begin() + static_cast<long>(i) + 1, extra.begin(), extra.end());
    to = i;
  }
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
    case LauncherKind::kNone:
      break;
  }
  return "none";
}

int find_launcher(const Words& command) {
  if (command.empty()) return -1;
  if (is_launcher(command[0])) return 0;
  if (!is_wrapper(command[0])) return -1;
  for (std::size_t i = 1; i < command.size(); ++i) {
    if (is_launcher(command[i])) return static_cast<int>(i);
  }
  return -1;
}

LauncherKind classify_launcher(const std::string& program, const std::string& version_text) {
  if (base_name(program) == "srun") return LauncherKind::kSrun;
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

int find_program(const Words& command, int launcher_at) {
  std::size_t i = static_cast<std::size_t>(launcher_at + 1);
  while (i < command.size() && starts_with(command[i], "-")) i += static_cast<std::size_t>(words_of_option(command, i));
  return static_cast<int>(std::min(i, command.size()));
}

}  // namespace mercutio::tool
