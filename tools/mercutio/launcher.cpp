// The rewriting rules follow the manuals of Open MPI's mpirun, MPICH's hydra, Slurm's srun, flux-run, jsrun, aprun, MVAPICH's mpirun_rsh
// and Apptainer.
#include "launcher.h"

#include <algorithm>
#include <fstream>

#include "bench/common.h"
#include "launcher_line.h"
#include "process.h"

namespace mercutio::tool {
namespace {

constexpr const char *kPreload = "LD_PRELOAD", *kHints = "MERCUTIO_HINTS";

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.rfind(prefix, 0) == 0;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// mpirun, mpirun.openmpi, mpiexec.hydra, mpirun-mpich-mp, mpiexec-5.0: an MPI's name or a version behind it. Other names are a user's scripts.
bool is_launcher(const std::string& word) {
  static constexpr const char* kOthers[] = {"srun", "orterun", "prterun", "jsrun", "aprun", "mpirun_rsh"};
  static constexpr const char* kMpis[] = {"mpich", "openmpi", "ompi", "hydra", "gforker", "mvapich", "intel", "impi", "slurm", "mpt", "pmi", "lsf", "actual"};
  const std::string name = base_name(word), stem = name.substr(0, name.find_first_of(".-"));
  if (std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers)) return true;
  if (stem != "mpirun" && stem != "mpiexec") return false;
  const std::string rest = name.size() > stem.size() ? name.substr(stem.size() + 1) : "";
  const bool version = rest.find_first_not_of("0123456789.") == std::string::npos;
  return version || std::any_of(std::begin(kMpis), std::end(kMpis), [&](const char* mpi) { return starts_with(rest, mpi); });
}

std::string join(const std::string& name, const std::string& value) {
  return name + "=" + value;
}

// The value of a variable that the line sets itself. Our preload goes behind theirs, and so do the hints of --hint, which follow those of the
// environment in `value`; the environment's own give way.
std::string merged(const std::string& value, const std::string& name, const std::string& theirs) {
  if (name == kPreload) return append_preload(value, theirs);
  if (name != kHints) return theirs;
  const std::string of_environment = environment(kHints);
  if (value == of_environment) return theirs;
  const std::string before = of_environment.empty() ? "" : of_environment + ";";
  return theirs + (theirs.empty() ? "" : ";") + (starts_with(value, before) ? value.substr(before.size()) : value);
}

bool is_one_of(const std::string& name, const Words& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// True when an option of a context sets the variable itself, now with our value in it: -x NAME, -x NAME=value.
bool merge_option(Words& words, const Context& context, const Words& options, const std::pair<std::string, std::string>& variable) {
  const auto& [name, value] = variable;
  bool found = false;
  for (const Option& option : context.options) {
    const std::string text = value_of(words, option);
    if (!is_one_of(option.name, options) || (text != name && !starts_with(text, name + "="))) continue;
    set_value(words, option, join(name, text == name ? value : merged(value, name, text.substr(name.size() + 1))));
    found = true;
  }
  return found;
}

// -genv NAME value, -genv NAME=value or -genv=NAME=value, and -env for one context. True when one counts for all contexts.
bool merge_hydra(Words& words, const Context& context, const std::pair<std::string, std::string>& variable) {
  const auto& [name, value] = variable;
  bool global = false;
  for (const Option& option : context.options) {
    if (option.name != "genv" && option.name != "env") continue;
    const std::string text = value_of(words, option);
    if (option.is_pair() && text == name) {
      words[option.value_at + 1] = merged(value, name, words[option.value_at + 1]);
    } else if (starts_with(text, name + "=")) {
      set_value(words, option, join(name, merged(value, name, text.substr(name.size() + 1))));
    } else {
      continue;
    }
    global |= option.name == "genv";
  }
  return global;
}

void insert(Words& words, std::size_t place, const Words& more) {
  words.insert(words.begin() + static_cast<long>(place), more.begin(), more.end());
}

// With a list of variables to hand on, Open MPI refuses -x: the names go to the list, and the values into its own environment.
constexpr const char* kOpenMpiList = "mca_base_env_list";
constexpr const char* kOpenMpiListVariable = "OMPI_MCA_mca_base_env_list";

// It doesn't know the list.
bool is_prterun(const Words& command, int at) {
  return base_name(command[static_cast<std::size_t>(at)]) == "prterun";
}

// The index of the list on the line; 0: there is none.
std::size_t find_list(const Words& words, const std::vector<Context>& contexts) {
  for (const Context& context : contexts)
    for (const Option& option : context.options)
      if (option.name == "mca" && option.is_pair() && value_of(words, option) == kOpenMpiList) return option.value_at + 1;
  return 0;
}

// The first option of this name; null: there is none.
const Option* find_option(const std::vector<Context>& contexts, const std::string& name) {
  for (const Context& context : contexts)
    for (const Option& option : context.options)
      if (option.name == name) return &option;
  return nullptr;
}

Words with_openmpi_list(Words command, int at, Variables variables, std::size_t on_line) {
  std::string list = on_line > 0 ? command[on_line] : environment(kOpenMpiListVariable);
  Words items = split(list, ';'), before{"env"};
  for (auto& [name, value] : variables) {
    std::erase_if(items, [&](const std::string& item) {
      const bool same = item == name || starts_with(item, name + "=");
      if (same && item != name) value = merged(value, name, item.substr(name.size() + 1));
      return same;
    });
    items.push_back(name);
    before.push_back(join(name, value));
  }
  list = joined(items, ";");
  if (on_line > 0) command[on_line] = list;
  if (on_line == 0) before.push_back(join(kOpenMpiListVariable, list));
  insert(command, static_cast<std::size_t>(at), before);
  return command;
}

// -x counts for its own context only, so each one gets the variables. The last one first, so that the places of the others stay what they are.
Words with_openmpi(Words command, int at, const Variables& variables) {
  const std::vector<Context> contexts = contexts_of(LauncherKind::kOpenMpi, command, at);
  const std::size_t list = find_list(command, contexts);
  const bool of_file = find_option(contexts, "app") != nullptr;   // -x on the line doesn't come to its programs
  const bool listed = list > 0 || of_file || !environment(kOpenMpiListVariable).empty();
  if (listed && !is_prterun(command, at)) return with_openmpi_list(std::move(command), at, variables, list);
  for (auto context = contexts.rbegin(); context != contexts.rend(); ++context) {
    Words extra;
    for (const auto& variable : variables) {
      if (!merge_option(command, *context, {"x"}, variable)) extra.insert(extra.end(), {"-x", join(variable.first, variable.second)});
    }
    insert(command, context->from, extra);
  }
  return command;
}

// `options`: without dashes; the first one is of one letter.
Words with_option(LauncherKind kind, Words command, int at, const Variables& variables, const Words& options) {
  const Context context = contexts_of(kind, command, at).front();
  Words extra;
  for (const auto& variable : variables) {
    if (!merge_option(command, context, options, variable)) extra.insert(extra.end(), {"-" + options.front(), join(variable.first, variable.second)});
  }
  insert(command, context.from, extra);
  return command;
}

// Rules count in their order, and some take variables away: ours come after all of the user's. In values $ begins a variable's name.
Words with_flux(Words command, int at, const Variables& variables) {
  const Context context = contexts_of(LauncherKind::kFlux, command, at).front();
  const auto set_by = [&](const std::string& name) {
    std::string theirs;
    for (const Option& option : context.options) {
      const std::string rule = option.name == "env" ? value_of(command, option) : "";
      if (starts_with(rule, join(name, ""))) theirs = rule.substr(name.size() + 1);
    }
    return theirs;
  };
  Words extra;
  for (const auto& [name, value] : variables) {
    const std::string theirs = name == kPreload || name == kHints ? set_by(name) : "";
    std::string text = theirs.empty() ? value : merged(value, name, theirs);
    for (std::size_t dollar = 0; (dollar = text.find('$', dollar)) != std::string::npos; dollar += 2) text.insert(dollar, 1, '$');
    extra.push_back("--env=" + join(name, text));
  }
  const bool dashes = context.program > context.from && command[context.program - 1] == "--";
  insert(command, context.program - (dashes ? 1 : 0), extra);
  return command;
}

// Directly before the program.
Words with_rsh(Words command, int at, const Variables& variables) {
  const Context context = contexts_of(LauncherKind::kRsh, command, at).front();
  Words extra;
  for (const auto& [name, value] : variables) {
    bool set = false;
    for (std::size_t i = context.from; i < context.program; ++i) {
      if (!starts_with(command[i], join(name, ""))) continue;
      command[i] = join(name, merged(value, name, command[i].substr(name.size() + 1)));
      set = true;
    }
    if (!set) extra.push_back(join(name, value));
  }
  insert(command, context.program, extra);
  return command;
}

Words with_hydra(Words command, int at, const Variables& variables) {
  const std::vector<Context> contexts = contexts_of(LauncherKind::kHydra, command, at);
  Words extra;
  for (const auto& variable : variables) {
    bool global = false;
    for (const Context& context : contexts) global |= merge_hydra(command, context, variable);
    if (!global) extra.insert(extra.end(), {"-genv", variable.first, variable.second});
  }
  insert(command, contexts.front().from, extra);
  return command;
}

// What --export of a component says, or else srun's variables, and takes it off the line. Empty: all.
Words limits_of_srun(Words& command, const Context& context) {
  const std::string of_srun = environment("SRUN_EXPORT_ENV");
  std::string list = of_srun.empty() ? environment("SLURM_EXPORT_ENV") : of_srun;
  bool found = false;   // of several, the last one counts
  for (auto option = context.options.rbegin(); option != context.options.rend(); ++option) {
    if (option->name != "export" || option->value_at == 0) continue;
    if (!found) list = value_of(command, *option);
    found = true;
    command.erase(command.begin() + static_cast<long>(option->at), command.begin() + static_cast<long>(option->end));
  }
  return list == "ALL" ? Words{} : split(list, ',');
}

// srun hands on its own environment; a value in --export counts only where that doesn't have the variable (Slurm 22.05), and may
// hold no comma. So the variables stand before srun, and --export of each component names them if it limits what is handed on.
Words with_srun(Words command, int at, Variables variables) {
  const std::vector<Context> contexts = contexts_of(LauncherKind::kSrun, command, at);
  for (auto context = contexts.rbegin(); context != contexts.rend(); ++context) {
    const Words limits = limits_of_srun(command, *context);
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
    if (limited)
      for (const auto& variable : variables) list.push_back(variable.first);
    if (!limits.empty()) insert(command, context->from, {"--export=" + joined(list, ",")});
  }
  Words before{"env"};
  for (const auto& [name, value] : variables) before.push_back(join(name, value));
  if (!variables.empty()) insert(command, static_cast<std::size_t>(at), before);
  return command;
}

// The word itself, or WORD=value.
bool has_word(const std::string& path, const std::string& word) {
  std::ifstream in(path);
  for (std::string next; in >> next;)
    if (next == word || starts_with(next, word + "=")) return true;
  return false;
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
  std::size_t at = 0;
  while (at < command.size()) {
    const bool flux = base_name(command[at]) == "flux" && at + 1 < command.size() && (command[at + 1] == "run" || command[at + 1] == "submit");
    if (flux || is_launcher(command[at])) return static_cast<int>(at);
    const std::size_t next = behind_wrapper(command, at);
    if (next == at) break;
    at = next;
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
      return with_option(kind, command, at, variables, {"E", "env"});
    case LauncherKind::kAprun:
      return with_option(kind, command, at, variables, {"e", "environment-override"});
    case LauncherKind::kRsh:
      return with_rsh(command, at, variables);
    case LauncherKind::kNone:
      break;
  }
  return command;
}

bool is_mercutio(const std::string& library) {
  const std::string file = base_name(library);
  return file == "libmercutio.so" || starts_with(file, "libmercutio.so.");
}

static Words libraries_in(const std::string& preload) {
  Words libraries;
  for (std::size_t start = 0; start <= preload.size();) {
    const std::size_t end = std::min(preload.find_first_of(": ", start), preload.size());
    if (end > start) libraries.push_back(preload.substr(start, end - start));
    start = end + 1;
  }
  return libraries;
}

std::string append_preload(const std::string& mine, const std::string& existing) {
  Words libraries = libraries_in(existing);
  std::erase_if(libraries, [&](const std::string& one) { return one == mine || (is_mercutio(mine) && is_mercutio(one)); });
  libraries.push_back(mine);
  return joined(libraries, ":");
}

std::string without_mercutio(const std::string& preload) {
  Words libraries = libraries_in(preload);
  std::erase_if(libraries, is_mercutio);
  return joined(libraries, ":");
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

std::string why_none_is_reached(LauncherKind kind, const Words& command, int at) {
  const std::string name = command.empty() ? "" : base_name(command[0]);
  for (const char* known : {"sbatch", "qsub", "bsub"}) {
    if (name == known) return name + " starts a script, and no rank. Put `mercutio run --` in the script, before srun or mpirun";
  }
  const bool flux = name == "flux" && command.size() > 1 && (command[1] == "batch" || command[1] == "alloc");
  if (flux) return "flux " + command[1] + " starts a script, and no rank. Put `mercutio run --` in the script, before flux run";
  if (at < 0) return "";
  const std::vector<Context> contexts = contexts_of(kind, command, at);
  const char* const of_file = kind == LauncherKind::kOpenMpi ? "app" : kind == LauncherKind::kRsh ? "config" : kind == LauncherKind::kHydra ? "configfile" : "";
  const Option* const option = find_option(contexts, of_file);
  if (!option) return "";
  const std::string word = command[option->at].substr(0, command[option->at].find('=')), file = value_of(command, *option);
  std::string why;
  if (kind == LauncherKind::kRsh || is_prterun(command, at)) {
    why = "programs in a file don't get the preload";
  } else if (kind == LauncherKind::kHydra) {   // what it says of a variable counts more than the line
    if (has_word(file, kPreload)) why = "the programs in " + file + " have a LD_PRELOAD of their own, and don't get the preload";
  } else if (has_word(file, "-x") || find_option(contexts, "x") != nullptr) {
    why = std::string("programs in a file get the preload by ") + kOpenMpiList + ", which Open MPI does not take beside -x";
  }
  return why.empty() ? "" : word + ": " + why + ". Give them on the command line, or begin each in the file with env LD_PRELOAD=...";
}

int find_program(LauncherKind kind, const Words& command, int launcher_at) {
  return static_cast<int>(contexts_of(kind, command, launcher_at).front().program);
}

}  // namespace mercutio::tool
