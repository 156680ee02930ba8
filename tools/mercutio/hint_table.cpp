// From the tables and the functions that the library itself reads hints with, so that it can't say anything else.
#include "hint_table.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/file_text.h"
#include "insight/site_file.h"
#include "model/hints_files.h"
#include "model/hints_report.h"
#include "model/hints_sources.h"
#include "model/size_text.h"
#include "process.h"
#include "storage/storage.h"

namespace mercutio::tool {
namespace {

const char* when_of(HintTime time) {
  return time == HintTime::kOpen ? "at open" : time == HintTime::kAnyTime ? "any time" : "reported only";
}

std::string text_of(std::string_view text) {
  return std::string(text);
}

int list_hints() {
  for (const HintFacts& hint : all_hints()) {
    const std::string initial = hint.initial.empty() ? "(none)" : hint.initial;
    std::printf("%-28s %-10s %-13s %s\n", text_of(hint.name).c_str(), initial.c_str(), when_of(hint.time), text_of(hint.doc).c_str());
  }
  return 0;
}

std::string range_of(const HintFacts& hint) {
  if (hint.unit == "bytes") return size_text(hint.low) + " to " + size_text(hint.high) + ", in bytes (units such as 64k or 16MiB are understood)";
  if (hint.unit == "count") return std::to_string(hint.low) + " to " + std::to_string(hint.high);
  if (hint.unit == "toggle") return "enable, disable or automatic";
  return hint.unit == "bool" ? "true or false" : "";
}

void print_facts(const HintFacts& hint) {
  const std::string initial = hint.initial.empty() ? "(none)" : hint.initial, range = range_of(hint);
  std::printf("%s\n  %s\n  default: %s\n", text_of(hint.name).c_str(), text_of(hint.doc).c_str(), initial.c_str());
  if (!range.empty()) std::printf("  range: %s\n", range.c_str());
  if (!hint.aliases.empty()) std::printf("  also accepted: %s\n", text_of(hint.aliases).c_str());
  for (const ForeignHint& other : foreign_hints()) {
    if (other.ours != hint.name) continue;
    std::printf("  set by the variable %s%s\n", text_of(other.name).c_str(), other.why.empty() ? "" : (" (" + text_of(other.why) + ")").c_str());
  }
  std::printf("  set: %s\n  %s\n", when_of(hint.time), hint.agree ? "rank 0's value counts for all ranks" : "each rank's own");
}

void print_sources(const std::string& name) {
  std::printf("  where it may be set, weakest first:\n");
  for (const HintFilePlace& place : hint_file_places({})) {
    if (place.source == HintSource::kEnvironment || place.path.empty()) continue;
    const bool there = std::ifstream(place.path).good();
    std::printf("    %s %s%s\n", hint_source_name(place.source), place.path.c_str(), there ? "" : " (not there)");
  }
  std::printf("    environment MPICH_MPIIO_HINTS='*:%s=...', the files named by ROMIO_HINTS and MERCUTIO_HINTS_FILE, MERCUTIO_HINTS='%s=...'\n", name.c_str(), name.c_str());
  std::printf("    the program's MPI_Info\n");
}

int explain_hint(const std::string& name) {
  const std::vector<std::string> names = hint_names(name);
  for (const HintFacts& hint : all_hints()) {
    if (std::find(names.begin(), names.end(), hint.name) == names.end()) continue;
    print_facts(hint);
    if (hint.time != HintTime::kOutput) print_sources(text_of(hint.name));
    return 0;
  }
  if (const ForeignHint* known = find_foreign_hint(name)) {
    if (!known->ours.empty()) std::printf("%s\n  the environment variable that sets %s here\n", name.c_str(), text_of(known->ours).c_str());
    else std::printf("%s\n  has no effect here: %s\n", name.c_str(), text_of(known->why).c_str());
    return 0;
  }
  const std::string meant = closest_hint(name);
  std::fprintf(stderr, "mercutio: no hint is called '%s'; %s`mercutio hints` lists them\n", name.c_str(),
               meant.empty() ? "" : ("did you mean '" + meant + "'? ").c_str());
  return 1;
}

// What the file has, as far as it can be told without a job.
InfoItems in_effect(const HintsOptions& options, Hints hints, bool& there) {
  const Resolved resolved = resolve(options.file, hints.mercutio_remote);
  there = false;
  if (std::string_view(resolved.driver->name()) == "posix" || !driver_library_of(options.file).empty()) {
    auto opened = resolved.driver->open(resolved.path, OpenOptions{});
    there = opened.ok();
    if (opened) {
      const Layout layout = (*opened)->layout();
      hints.romio_filesystem_type = (*opened)->traits().file_system;
      hints.romio_visibility_immediate = (*opened)->traits().coherence == Coherence::kImmediate;
      if (layout.stripe_bytes > 0) {
        hints.striping_unit = layout.stripe_bytes;
        hints.striping_factor = layout.stripe_count;
      }
      hints.start_iodevice = layout.first_server;
    }
  }
  if (options.ranks > 0) hints.cb_nodes = std::min<i64>(hints.cb_nodes, options.ranks);
  return effective_hints(hints);
}

// Those of the tuner's hints that some program would get for this file: which one opens it isn't known here.
void name_profiles(const std::string& path) {
  for (const KnownProfile& known : profiles_of_file(path)) {
    std::printf("found by the tuner, where %s opens it with %lld ranks: %s (--program %s --ranks %lld shows what is in effect then)\n",
                known.profile.application.c_str(), static_cast<long long>(known.profile.ranks), known.path.c_str(), known.profile.application.c_str(),
                static_cast<long long>(known.profile.ranks));
  }
}

int show_file(const HintsOptions& options) {
  const std::string path = name_for_hints(options.file);
  AskedHints asked = HintSources().asked_for(path, options.ranks, options.program);
  std::vector<AskedHint> all = std::move(asked.measured);
  std::move(asked.hints.begin(), asked.hints.end(), std::back_inserter(all));
  for (const std::string& pair : options.info) {
    const size_t equals = pair.find('=');
    all.push_back({pair.substr(0, equals), pair.substr(equals + 1), HintOrigin{}});
  }
  HintSet set;
  apply_hints(set, all, HintTime::kOpen);
  bool there = false;
  const InfoItems now = in_effect(options, set.values, there);
  note_ineffective(set, now, !there);
  std::printf("%s%s\n%s", options.file.c_str(), there ? "" : " (not there yet)", hint_table(hint_rows(set, now)).c_str());
  for (const std::string& problem : asked.problems) std::printf("mistake: %s\n", problem.c_str());
  if (options.program.empty()) name_profiles(path);
  return 0;
}

void check_jobs(const HintLine& jobs, std::vector<HintProblem>& problems, std::string& note) {
  if (jobs.value.empty()) return;
  const Result<std::string> path = record_of_a_job(jobs.value);
  if (!path) return problems.push_back({jobs.line, "jobs: " + path.error().what});
  const std::string fixed = jobs.value.substr(0, jobs.value.find('%')), folder = fixed.substr(0, std::max<size_t>(1, fixed.rfind('/')));
  struct stat state {};
  const bool there = ::stat(folder.c_str(), &state) == 0 && S_ISDIR(state.st_mode);
  note = "records of jobs, if it is the site's file: " + *path + (there ? "" : " (" + folder + " is not here)");
  if (there && (state.st_mode & S_IWOTH) == 0) note += " (not all users can write in " + folder + ")";
}

int check_file(const std::string& path) {
  const auto text = text_of_file(path);
  if (!text) return complain("hints", path, std::strerror(text.error().sys_errno));
  const HintFile file = parse_hint_toml(*text);
  std::vector<HintProblem> problems = check_hint_file(file);
  std::string note;
  check_jobs(file.jobs, problems, note);
  for (const HintProblem& problem : problems)
    std::printf("%s:%lld: %s\n", path.c_str(), static_cast<long long>(problem.line), problem.text.c_str());
  size_t hints = 0, sections = 0;
  for (const HintSection& section : file.sections) {
    hints += section.hints.size();
    sections += section.hints.empty() ? 0 : 1;
  }
  if (problems.empty()) std::printf("%s: no mistakes; hints: %zu, sections: %zu\n", path.c_str(), hints, sections);
  if (!note.empty()) std::printf("%s:%lld: %s\n", path.c_str(), static_cast<long long>(file.jobs.line), note.c_str());
  return problems.empty() ? 0 : 1;
}

// Of a directory, all files of hints in it.
int check_path(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_directory(path, failed)) return check_file(path);
  std::vector<std::string> names;
  for (auto entry = std::filesystem::directory_iterator(path, failed); !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed))
    if (entry->path().extension() == ".toml") names.push_back(entry->path().string());
  if (failed) return complain("hints", path, failed.message());
  if (names.empty()) return complain("hints", path, "is a directory without a file called *.toml");
  std::sort(names.begin(), names.end());
  int code = 0;
  for (const std::string& name : names) code = std::max(code, check_file(name));
  return code;
}

}  // namespace

int take_hints(const char* command, const std::string& from, const std::vector<std::string>& given, HintSet& set) {
  for (const std::string& hint : given) {
    const InfoItems items = parse_hint_string(hint);
    if (items.empty()) return complain(command, from + " " + hint, "must be key=value");
    apply_hints(set, items, HintSource::kInfo, HintTime::kOpen);
  }
  for (const HintNote& note : set.notes) {
    if (!note.applied()) return complain(command, from + " " + note.key, note.why_not);
  }
  return 0;
}

Result<std::string> record_of_a_job(const std::string& pattern) {
  const std::string user = environment("USER");
  SiteFacts facts{user.empty() ? "user" : user, "1", "node", "program", 0, 0};
  facts.uid = static_cast<i64>(::getuid()), facts.start = static_cast<i64>(::time(nullptr));
  return site_path(pattern, facts);
}

int hints(const HintsOptions& options) {
  if (int{!options.name.empty()} + int{!options.file.empty()} + int{!options.check.empty()} > 1) {
    std::fprintf(stderr, "mercutio hints: a hint's name, --file and --check go one at a time\n");
    return 2;
  }
  if (options.file.empty() && (!options.info.empty() || options.ranks > 0 || !options.program.empty())) {
    std::fprintf(stderr, "mercutio hints: --info, --ranks and --program need --file, the file that they are for\n");
    return 2;
  }
  if (!options.check.empty()) return check_path(options.check);
  if (!options.file.empty()) return show_file(options);
  return options.name.empty() ? list_hints() : explain_hint(options.name);
}

}  // namespace mercutio::tool
