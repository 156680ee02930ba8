// The rewriting rules follow the manuals of Open MPI's mpirun, MPICH's hydra, Slurm's srun, flux-run, jsrun, aprun, MVAPICH's mpirun_rsh
// and Apptainer.
#include "launcher.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

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

// What a launcher's manual says: options that take the next word as their value, without their dashes, and those that take two words.
struct LauncherOptions {
  LauncherKind kind;
  std::string_view valued, pairs;
  bool contexts = false;   // several programs, with ":" between
};
constexpr LauncherOptions kOptions[] = {
    {LauncherKind::kOpenMpi,
     " n np c N npernode npersocket host H hostfile machinefile default-hostfile x wdir wd path prefix map-by bind-to rank-by cpu-set cpu-list slot-list rf"
     " rankfile ppr app output-filename output timeout stdin preload-files tune am personality dvm dvm-uri pset launch-agent ompi-server server-wait-time"
     " xml-file xterm report-uri report-pid stream-buffering display runtime-options rtos mca-base-param-file max-restarts tag-output-to ",
     " mca gmca omca pmixmca prtemca ", true},
    {LauncherKind::kHydra,
     " n np f hosts host hostfile machinefile machine wdir path configfile iface launcher launcher-exec bootstrap bootstrap-exec bootstrap-exec-args rmk"
     " bind-to map-by membind topolib ppn perhost grr ranks-per-proc ckpoint-interval ckpoint-prefix ckpoint-num ckpointlib outfile-pattern errfile-pattern"
     " outfile errfile nameserver usize arch soft order-nodes demux localhost prepend-pattern envlist genvlist hosts-group branch-count gtool gtoolfile"
     " pmi-port s timeout ",
     " genv env ", true},
    {LauncherKind::kSrun,
     " A b B c C d D e G i J L m M n N o p q r S t T w W x account acctg-freq begin chdir cluster-constraint clusters comment constraint container"
     " core-spec cores-per-socket cpu-bind cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot dependency distribution epilog error exclude export"
     " extra extra-node-info gid gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags het-group hint input job-name jobid"
     " licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus mpi msg-timeout network nodefile nodelist nodes ntasks"
     " ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket open-mode output pack-group partition power prefer priority profile prolog qos"
     " relative reservation signal slurmd-debug sockets-per-node switches task-epilog task-prolog thread-spec threads threads-per-core time time-min tmp"
     " tres-bind tres-per-task uid wait wckey ",
     "", true},
    {LauncherKind::kFlux,
     " n N c g t o S B q setattr setopt env env-remove env-file rlimit input output error job-name queue bank dependency requires begin-time urgency cwd"
     " signal add-file cores tasks-per-node tasks-per-core gpus-per-node cores-per-task gpus-per-task nodes ntasks nslots time-limit log log-stderr taskmap"
     " conf flags ",
     ""},
    {LauncherKind::kJsrun,
     " n a c g r d l p b e h k o t m i E F D J K L M P U X nrs tasks_per_rs cpu_per_rs gpu_per_rs rs_per_host launch_distribution latency_priority np bind"
     " env env_eval chdir stdio_stdout stdio_stderr stdio_input stdio_mode erf_input smpiargs use_reservation memory_per_rs exit_on_error pre_post_exec"
     " stdio_stderr ",
     ""},
    {LauncherKind::kAprun, " n N d S sn sl cc cp L l m e a D F j M p r t P environment-override pes pes-per-node cpu-binding ", ""},
    {LauncherKind::kRsh, " np n hostfile config sg ", ""},
};

const LauncherOptions* options_of(LauncherKind kind) {
  const auto* const found = std::find_if(std::begin(kOptions), std::end(kOptions), [kind](const LauncherOptions& one) { return one.kind == kind; });
  return found == std::end(kOptions) ? nullptr : found;
}

// "--np" and "-np" are "np".
std::string_view name_of_option(std::string_view word) {
  const std::size_t begin = std::min(word.find_first_not_of('-'), word.size());
  return word.substr(begin);
}

bool is_in(std::string_view names, std::string_view name) {
  return !name.empty() && names.find(" " + std::string(name) + " ") != std::string_view::npos;
}

std::size_t words_of_option(const LauncherOptions& options, const Words& words, std::size_t i) {
  const std::string_view name = name_of_option(words[i]);
  if (is_in(options.pairs, name)) {
    const bool joined_pair = options.kind == LauncherKind::kHydra && i + 1 < words.size() && contains(words[i + 1], "=");
    return joined_pair ? 2 : 3;
  }
  return is_in(options.valued, name) ? 2 : 1;
}

// One application context: the words after the launcher or a ":", up to the next one.
struct Context {
  std::size_t from = 0, program = 0, to = 0;   // options, then the program with its arguments
};

std::size_t program_from(LauncherKind kind, const Words& words, std::size_t from, std::size_t to) {
  const LauncherOptions* const options = options_of(kind);
  static constexpr LauncherOptions kUnknown{LauncherKind::kNone, "", ""};
  std::size_t i = from;
  while (i < to && starts_with(words[i], "-")) {
    if (words[i] == "--") return i + 1;
    i += words_of_option(options ? *options : kUnknown, words, i);
  }
  return std::min(i, to);
}

std::vector<Context> contexts_of(LauncherKind kind, const Words& words, int at) {
  const LauncherOptions* const options = options_of(kind);
  std::vector<Context> contexts;
  std::size_t from = static_cast<std::size_t>(at) + (kind == LauncherKind::kFlux ? 2 : 1);
  while (from <= words.size()) {
    std::size_t to = from;
    while (to < words.size() && !(options && options->contexts && words[to] == ":")) ++to;
    contexts.push_back({from, program_from(kind, words, from, to), to});
    from = to + 1;
  }
  return contexts;
}

// Takes the words of the line that set LD_PRELOAD themselves out of play: ours goes behind their value.
std::string merged(const std::string& value, const std::string& name, const std::string& theirs) {
  return name == kPreload ? append_preload(value, theirs) : theirs;
}

// True when an option of a context sets the variable itself, now with our value in it. Values are words of their own, or are joined to the option:
// --env=NAME=value, -ENAME=value.
bool merge_option(Words& words, const Context& context, const Words& options, const std::pair<std::string, std::string>& variable) {
  const auto& [name, value] = variable;
  bool found = false;
  for (std::size_t i = context.from; i < context.program; ++i) {
    for (const std::string& option : options) {
      const std::string before = starts_with(option, "--") ? option + "=" : option;
      const bool apart = words[i] == option && i + 1 < context.program;
      if (!apart && !(words[i].size() > before.size() && starts_with(words[i], before))) continue;
      std::string& word = apart ? words[i + 1] : words[i];
      const std::string front = apart ? "" : before, text = word.substr(front.size());
      if (text != name && !starts_with(text, name + "=")) continue;
      word = front + join(name, text == name ? value : merged(value, name, text.substr(name.size() + 1)));
      found = true;
    }
  }
  return found;
}

bool merge_hydra(Words& words, const Context& context, const std::string& name, const std::string& value) {
  bool global = false;
  for (std::size_t i = context.from; i + 1 < context.program; ++i) {
    const bool is_global = words[i] == "-genv" || words[i] == "--genv";
    if (!is_global && words[i] != "-env" && words[i] != "--env") continue;
    std::string& word = words[i + 1];
    if (word == name && i + 2 < context.program) {
      words[i + 2] = merged(value, name, words[i + 2]);
    } else if (starts_with(word, name + "=")) {
      word = join(name, merged(value, name, word.substr(name.size() + 1)));
    } else {
      continue;
    }
    global |= is_global;
  }
  return global;
}

void insert(Words& words, std::size_t place, const Words& more) {
  words.insert(words.begin() + static_cast<long>(place), more.begin(), more.end());
}

// With a list of variables to hand on, Open MPI refuses -x: the names go to the list, and the values into its own environment.
constexpr const char* kOpenMpiList = "mca_base_env_list";

// The index of the list on the line; 0: there is none.
std::size_t find_list(const Words& words, const std::vector<Context>& contexts) {
  for (const Context& context : contexts)
    for (std::size_t i = context.from; i + 2 < context.program; ++i)
      if (name_of_option(words[i]) == "mca" && words[i + 1] == kOpenMpiList) return i + 2;
  return 0;
}

Words with_openmpi_list(Words command, int at, Variables variables, std::size_t on_line) {
  std::string list = on_line > 0 ? command[on_line] : environment(std::string("OMPI_MCA_") + kOpenMpiList);
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
  if (on_line == 0) before.push_back(join(std::string("OMPI_MCA_") + kOpenMpiList, list));
  insert(command, static_cast<std::size_t>(at), before);
  return command;
}

// -x counts for its own context only, so each one gets the variables. The last one first, so that the places of the others stay what they are.
Words with_openmpi(Words command, int at, const Variables& variables) {
  const std::vector<Context> contexts = contexts_of(LauncherKind::kOpenMpi, command, at);
  const std::size_t list = find_list(command, contexts);
  if (list > 0 || !environment(std::string("OMPI_MCA_") + kOpenMpiList).empty()) return with_openmpi_list(std::move(command), at, variables, list);
  for (auto context = contexts.rbegin(); context != contexts.rend(); ++context) {
    Words extra;
    for (const auto& variable : variables) {
      if (!merge_option(command, *context, {"-x", "--x"}, variable)) extra.insert(extra.end(), {"-x", join(variable.first, variable.second)});
    }
    insert(command, context->from, extra);
  }
  return command;
}

Words with_option(LauncherKind kind, Words command, int at, const Variables& variables, const Words& options) {
  const Context context = contexts_of(kind, command, at).front();
  Words extra;
  for (const auto& variable : variables) {
    if (!merge_option(command, context, options, variable)) extra.insert(extra.end(), {options.front(), join(variable.first, variable.second)});
  }
  insert(command, context.from, extra);
  return command;
}

// Rules count in their order, and some take variables away: ours come after all of the user's. In values $ begins a variable's name.
Words with_flux(Words command, int at, const Variables& variables) {
  const Context context = contexts_of(LauncherKind::kFlux, command, at).front();
  std::string theirs;
  for (std::size_t i = context.from; i < context.program; ++i) {
    const bool apart = command[i] == "--env" && i + 1 < context.program;
    if (!apart && !starts_with(command[i], "--env=")) continue;
    const std::string rule = apart ? command[i + 1] : command[i].substr(std::string("--env=").size());
    if (starts_with(rule, join(kPreload, ""))) theirs = rule.substr(join(kPreload, "").size());
  }
  Words extra;
  for (const auto& [name, value] : variables) {
    std::string text = name == kPreload && !theirs.empty() ? merged(value, name, theirs) : value;
    for (std::size_t dollar = 0; (dollar = text.find('$', dollar)) != std::string::npos; dollar += 2) text.insert(dollar, 1, '$');
    extra.push_back("--env=" + join(name, text));
  }
  const bool dashes = context.program > context.from && command[context.program - 1] == "--";
  insert(command, context.program - (dashes ? 1 : 0), extra);
  return command;
}

bool sets_variable(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 && word.find_first_of("/-.:") > equals;
}

// Directly before the program, which comes after options, as many names of hosts as ranks where there is no host file, and the user's own variables.
Words with_rsh(Words command, int at, const Variables& variables) {
  const Context context = contexts_of(LauncherKind::kRsh, command, at).front();
  std::size_t hosts = 0, place = context.program;
  for (std::size_t i = context.from; i + 1 < context.program; ++i) {
    const std::string_view option = name_of_option(command[i]);
    if (option == "np" || option == "n") hosts = static_cast<std::size_t>(std::max(0L, std::strtol(command[i + 1].c_str(), nullptr, 10)));
    if (option == "hostfile") {
      hosts = 0;
      break;
    }
  }
  const auto is_host = [](const std::string& word) { return !sets_variable(word) && !contains(word, "/"); };
  for (; hosts > 0 && place + 1 < command.size() && is_host(command[place]); --hosts) ++place;
  const std::size_t first = place;
  while (place < command.size() && sets_variable(command[place])) ++place;
  Words extra;
  for (const auto& [name, value] : variables) {
    bool set = false;
    for (std::size_t i = first; i < place; ++i) {
      if (!starts_with(command[i], join(name, ""))) continue;
      command[i] = join(name, merged(value, name, command[i].substr(name.size() + 1)));
      set = true;
    }
    if (!set) extra.push_back(join(name, value));
  }
  insert(command, place, extra);
  return command;
}

Words with_hydra(Words command, int at, const Variables& variables) {
  const std::vector<Context> contexts = contexts_of(LauncherKind::kHydra, command, at);
  Words extra;
  for (const auto& [name, value] : variables) {
    bool global = false;
    for (const Context& context : contexts) global |= merge_hydra(command, context, name, value);
    if (!global) extra.insert(extra.end(), {"-genv", name, value});
  }
  insert(command, contexts.front().from, extra);
  return command;
}

// What --export of a component says, or else srun's variables, and takes it off the line. Empty: all.
Words limits_of_srun(Words& command, const Context& context) {
  const std::string of_srun = environment("SRUN_EXPORT_ENV");
  std::string list = of_srun.empty() ? environment("SLURM_EXPORT_ENV") : of_srun;
  for (std::size_t i = context.from; i < context.program; ++i) {
    const bool apart = command[i] == "--export" && i + 1 < context.program;
    if (!apart && !starts_with(command[i], "--export=")) continue;
    list = apart ? command[i + 1] : command[i].substr(std::string("--export=").size());
    command.erase(command.begin() + static_cast<long>(i), command.begin() + static_cast<long>(i) + (apart ? 2 : 1));
    break;
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
      return with_option(kind, command, at, variables, {"-E", "--env"});
    case LauncherKind::kAprun:
      return with_option(kind, command, at, variables, {"-e", "--environment-override"});
    case LauncherKind::kRsh:
      return with_rsh(command, at, variables);
    case LauncherKind::kNone:
      break;
  }
  return command;
}

std::string append_preload(const std::string& mine, const std::string& existing) {
  const bool of_mercutio = starts_with(base_name(mine), "libmercutio.so");
  std::string result;
  std::size_t start = 0;
  while (start <= existing.size()) {
    const std::size_t end = std::min(existing.find_first_of(": ", start), existing.size());
    const std::string item = existing.substr(start, end - start);
    const std::string file = base_name(item);
    const bool is_mercutio = file == "libmercutio.so" || starts_with(file, "libmercutio.so.");
    if (!item.empty() && item != mine && !(of_mercutio && is_mercutio)) result += item + ":";
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

std::string why_none_is_reached(LauncherKind kind, const Words& command, int at) {
  const std::string name = command.empty() ? "" : base_name(command[0]);
  for (const char* known : {"sbatch", "qsub", "bsub"}) {
    if (name == known) return name + " starts a script, and no rank. Put `mercutio run --` in the script, before srun or mpirun";
  }
  const bool flux = name == "flux" && command.size() > 1 && (command[1] == "batch" || command[1] == "alloc");
  if (flux) return "flux " + command[1] + " starts a script, and no rank. Put `mercutio run --` in the script, before flux run";
  if (at < 0) return "";
  const char* const of_file = kind == LauncherKind::kOpenMpi ? "app" : kind == LauncherKind::kRsh ? "config" : kind == LauncherKind::kHydra ? "configfile" : "";
  for (const Context& context : contexts_of(kind, command, at)) {
    for (std::size_t i = context.from; i < context.program; ++i) {
      if (*of_file && name_of_option(command[i]) == of_file)
        return command[i] + ": programs in a file don't get the preload. Give them on the command line, or begin each in the file with env LD_PRELOAD=...";
    }
  }
  return "";
}

int find_program(LauncherKind kind, const Words& command, int launcher_at) {
  return static_cast<int>(contexts_of(kind, command, launcher_at).front().program);
}

}  // namespace mercutio::tool
