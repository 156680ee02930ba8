// The tables follow the manuals of the launchers; an option that is not in them stands alone.
#include "launcher_line.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace mercutio::tool {
namespace {

// What a launcher's manual says: options that take the next word as their value, without their dashes, and those that take two words.
struct LauncherOptions {
  LauncherKind kind;
  std::string_view valued, pairs;
  bool contexts = false;   // several programs, with ":" between
  enum Letters { kApart, kJoined, kGrouped } letters = kApart;   // -n 2; also -n2; also several in one word: -ln2
};
constexpr LauncherOptions kOptions[] = {
    {LauncherKind::kOpenMpi,
     " n np c N npernode npersocket host H hostfile machinefile default-hostfile add-host add-hostfile x wdir wd path prefix map-by bind-to rank-by"
     " cpu-set cpu-list cpus-per-proc cpus-per-rank slot-list rf rankfile cf cartofile ppr app output-filename output timeout spawn-timeout stdin"
     " preload-files preload-files-dest-dir tune am personality dvm dvm-uri hnp pset launch-agent exec-agent ompi-server server-wait-time xml-file xterm"
     " debugger report-uri report-pid report-events stream-buffering display runtime-options rtos mca-base-param-file max-restarts max-vm-size"
     " forward-signals keepalive singleton tmpdir with-ft initial-errhandler memory-alloc-kinds unset-env ",
     " mca gmca omca gomca pmixmca gpmixmca prtemca gprtemca ", true},
    {LauncherKind::kHydra,
     " n np f hosts host hostfile machinefile machine wdir path configfile iface launcher launcher-exec bootstrap bootstrap-exec bootstrap-exec-args rmk"
     " bind-to binding map-by membind topolib ppn perhost grr ranks-per-proc ckpoint ckpoint-interval ckpoint-prefix ckpoint-num ckpointlib"
     " outfile-pattern errfile-pattern outfile errfile nameserver usize arch soft order-nodes demux localhost prepend-pattern envlist genvlist"
     " hosts-group branch-count gtool gtoolfile gpus-per-proc gpu-subdevs-per-proc s timeout tune tmpdir umask use-app-topology ",
     " genv env ", true},
    {LauncherKind::kSrun,
     " A b B c C d D e F G i J L m M n N o p P q r S t T w W x accel-bind account acctg-freq bb bbf bcast-exclude begin chdir cluster-constraint clusters"
     " comment constraint container container-id core-spec cores-per-socket cpu-bind cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot dependency"
     " distribution epilog error exclude export extra extra-node-info gid gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags"
     " het-group hint input job-name jobid licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincores mincpus minsockets"
     " minthreads mpi msg-timeout network nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket open-mode output"
     " pack-group partition power prefer priority profile prolog qos relative reservation segment signal slurmd-debug sockets-per-node switches task-epilog"
     " task-prolog thread-spec threads threads-per-core time time-min tmp treewidth tres-bind tres-per-task uid wait wckey ",
     "", true, LauncherOptions::kGrouped},
    {LauncherKind::kFlux,
     " n N c g t o S B q setattr setopt env env-remove env-file rlimit input output error job-name queue bank dependency requires begin-time urgency cwd"
     " signal add-file cores tasks-per-node tasks-per-core gpus-per-node cores-per-task gpus-per-task nodes ntasks time-limit log log-stderr taskmap flags"
     " cc bcc ",
     "", false, LauncherOptions::kGrouped},
    {LauncherKind::kJsrun,
     " a A b c d D e E f F g h H I J k K l L m M n o p P r S t U x X Z allocate_only appfile bind chdir cpu_per_rs env env_eval env_no_propagate erf_input"
     " erf_output erf_output_pidx exclude_hosts exit_on_error gpu_per_rs latency_priority launch_distribution launch_node_task memory_per_rs np nrs"
     " pre_post_exec print_placement progress rs_per_host rs_per_socket save_resources smpiargs stdin_rank stdio_input stdio_mode stdio_stderr stdio_stdout"
     " tasks_per_rs use_reservation use_resources use_spindle ",
     "", false, LauncherOptions::kGrouped},
    {LauncherKind::kAprun,
     " a cc cp d D e E F j l L m M n N p P r R S sl sn t access-mode architecture cpu-binding cpu-binding-file cpu-time-limit cpus-per-cu cpus-per-pe CPUs"
     " debug environment-override exclude-node-list exclude-node-list-file memory-per-pe mpmd-env node-list node-list-file numa-node-list"
     " numa-nodes-per-node p-governor p-state pes pes-per-node pes-per-numa-node pipes protection-domain relaunch specialized-cpus ",
     "", false, LauncherOptions::kJoined},
    {LauncherKind::kRsh, " np n ppn hostfile f machinefile launcher config sg spawnfile dpmspawn sparehosts ", ""},
};

const LauncherOptions* options_of(LauncherKind kind) {
  const auto* const found = std::find_if(std::begin(kOptions), std::end(kOptions), [kind](const LauncherOptions& one) { return one.kind == kind; });
  return found == std::end(kOptions) ? nullptr : found;
}

bool is_in(std::string_view names, std::string_view name) {
  return !name.empty() && names.find(" " + std::string(name) + " ") != std::string_view::npos;
}

// Where the first letter with a value is; the size without one.
std::size_t valued_letter(const LauncherOptions& options, std::string_view letters) {
  std::size_t at = 0;
  while (at < letters.size() && !is_in(options.valued, letters.substr(at, 1))) ++at;
  return at;
}

Option option_at(const LauncherOptions& options, const Words& words, std::size_t at, std::size_t to) {
  const std::string& word = words[at];
  const std::size_t begin = std::min(word.find_first_not_of('-'), word.size()), equals = std::min(word.find('=', begin), word.size());
  const std::string_view text = std::string_view(word).substr(begin), whole = text.substr(0, equals - begin);
  const bool known = is_in(options.valued, whole) || is_in(options.pairs, whole);
  Option option{at, at + 1, std::string(whole)};
  if (begin == 1 && (options.letters == LauncherOptions::kGrouped || (options.letters == LauncherOptions::kJoined && !known))) {
    const std::size_t letter = valued_letter(options, options.letters == LauncherOptions::kGrouped ? text : text.substr(0, 1));
    if (letter >= text.size() || (options.letters == LauncherOptions::kJoined && letter > 0)) return option;   // none has a value
    option.name = text[letter];
    option.value_at = at, option.value_from = begin + letter + 1;
    if (option.value_from < word.size()) return option;
  } else if (equals < word.size()) {
    option.value_at = at, option.value_from = equals + 1;
    return option;
  } else if (!known) {
    return option;
  }
  const bool hydras = options.kind == LauncherKind::kHydra && at + 1 < to && words[at + 1].find('=') != std::string::npos;
  option.end = std::min(at + (is_in(options.pairs, whole) && !hydras ? 3 : 2), to);
  option.value_at = at + 1 < to ? at + 1 : 0, option.value_from = 0;
  return option;
}

bool sets_variable(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 && word.find_first_of("/-.:") > equals;
}

// For mpirun_rsh, behind the options: without a file of hosts, as many names of hosts as ranks, and then the user's own variables.
std::size_t behind_hosts(const Words& words, const Context& context) {
  std::size_t ranks = 0, place = context.program;
  for (const Option& option : context.options) {
    if (option.name == "np" || option.name == "n") ranks = static_cast<std::size_t>(std::max(0L, std::strtol(value_of(words, option).c_str(), nullptr, 10)));
    if (option.name == "hostfile" || option.name == "f" || option.name == "machinefile" || option.name == "ppn") {
      ranks = 0;
      break;
    }
  }
  const auto is_host = [](const std::string& word) { return !sets_variable(word) && word.find('/') == std::string::npos && !word.starts_with("-"); };
  for (; ranks > 0 && place + 1 < words.size() && is_host(words[place]); --ranks) ++place;
  while (place < words.size() && sets_variable(words[place])) ++place;
  return place;
}

Context context_of(const LauncherOptions& options, const Words& words, std::size_t from, std::size_t to) {
  Context context{from, from, to, {}};
  std::size_t& i = context.program;
  while (i < to && words[i].size() > 1 && words[i][0] == '-') {
    if (words[i] == "--") {
      ++i;
      break;
    }
    context.options.push_back(option_at(options, words, i, to));
    i = context.options.back().end;
  }
  if (options.kind == LauncherKind::kRsh) i = behind_hosts(words, context);
  return context;
}

// Commands that start another one: their options with a value, and how many words come before that command.
struct Wrapper {
  std::string_view name, valued;
  std::size_t words = 0;
};
constexpr Wrapper kWrappers[] = {
    {"env", " u unset C chdir S split-string "},
    {"time", " f format o output "},
    {"timeout", " k kill-after s signal ", 1},
    {"nice", " n adjustment "},
    {"stdbuf", " i input o output e error "},
    {"numactl", " i interleave w weighted-interleave p preferred P preferred-many m membind N cpunodebind C physcpubind "},
    {"strace", " a columns b detach-on e trace signal fault inject status read write trace-path E env I interruptible o output O summary-syscall-overhead p attach"
               " P s string-limit S summary-sort-by u user U summary-columns X const-print-style "},
    {"taskset", "", 1},
    {"setsid", ""},
    {"nohup", ""},
};

}  // namespace

std::string value_of(const Words& words, const Option& option) {
  return option.value_at == 0 ? "" : words[option.value_at].substr(option.value_from);
}

void set_value(Words& words, const Option& option, const std::string& value) {
  words[option.value_at].replace(option.value_from, std::string::npos, value);
}

std::size_t behind_wrapper(const Words& words, std::size_t at) {
  const std::string name = words[at].substr(words[at].rfind('/') + 1);
  if (name == "salloc") return context_of(*options_of(LauncherKind::kSrun), words, at + 1, words.size()).program;
  const auto* const wrapper = std::find_if(std::begin(kWrappers), std::end(kWrappers), [&](const Wrapper& one) { return one.name == name; });
  if (wrapper == std::end(kWrappers)) return at;
  const LauncherOptions options{LauncherKind::kNone, wrapper->valued, "", false, LauncherOptions::kGrouped};
  const Context context = context_of(options, words, at + 1, words.size());
  std::size_t next = context.program + wrapper->words;
  if (name == "env") {
    const auto splits = [](const Option& option) { return option.name == "S" || option.name == "split-string"; };   // the command is in its value
    if (std::any_of(context.options.begin(), context.options.end(), splits)) return words.size();
    while (next < words.size() && (words[next] == "-" || words[next].find('=') != std::string::npos)) ++next;
  }
  return std::min(next, words.size());
}

std::vector<Context> contexts_of(LauncherKind kind, const Words& words, int at) {
  static constexpr LauncherOptions kUnknown{LauncherKind::kNone, "", ""};
  const LauncherOptions* const options = options_of(kind);
  std::vector<Context> contexts;
  std::size_t from = static_cast<std::size_t>(at) + (kind == LauncherKind::kFlux ? 2 : 1);
  while (from <= words.size()) {
    std::size_t to = from;
    while (to < words.size() && !(options && options->contexts && words[to] == ":")) ++to;
    contexts.push_back(context_of(options ? *options : kUnknown, words, from, to));
    from = to + 1;
  }
  return contexts;
}

}  // namespace mercutio::tool
