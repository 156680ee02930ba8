#include "model/hints_sources.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstdio>
#include <string_view>

#include "base/absolute_path.h"
#include "base/errno_text.h"
#include "base/file_text.h"
#include "base/installation.h"
#include "base/phases.h"
#include "base/program.h"
#include "base/split.h"
#include "model/hints_environment.h"
#include "model/hints_measured.h"

#ifndef MERCUTIO_SYSCONFDIR
#define MERCUTIO_SYSCONFDIR "/etc"
#endif

namespace mercutio {
namespace {

constexpr i64 kLargestFile = 1 * MiB;

bool is_there(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

std::string site_file() {
  const std::string beside = installed_file("etc/mercutio/hints.toml"), configured = MERCUTIO_SYSCONFDIR "/mercutio/hints.toml";
  return !beside.empty() && is_there(beside) ? beside : is_there(configured) ? configured : "/etc/mercutio/hints.toml";
}

// What a file says, as of `status`; why it can't be read.
std::string read_file(const std::string& path, const struct stat& status, std::string& text) {
  if (S_ISCHR(status.st_mode)) return "";   // /dev/null: no hints
  if (!S_ISREG(status.st_mode)) return "is no plain file";
  if (status.st_size > kLargestFile) return "is larger than 1 MiB, so it can't be a file of hints";
  auto whole = text_of_file(path);
  if (!whole) return std::string("can't be read: ") + errno_text(whole.error().sys_errno);
  text = std::move(*whole);
  return "";
}

// OMPIO's parameters whose values aren't ours: -1 for automatic, and a switch whose "on" is our "automatic".
std::string ompio_value(const std::string& ours, const std::string& value) {
  if (ours == "cb_nodes" && value == "-1") return "0";
  if (ours.starts_with("romio_ds_")) return is_switched_on(value) ? "automatic" : "disable";
  return value;
}

void add_ompio(AskedHints& asked) {
  for (const ForeignHint& known : foreign_hints()) {
    if (!known.name.starts_with("OMPI_MCA_") || known.name.ends_with('*')) continue;
    const std::string name(known.name), ours(known.ours), value = environment(name.c_str());
    if (value.empty()) continue;
    const HintOrigin origin{HintSource::kEnvironment, name, false, false};
    asked.hints.push_back({ours.empty() ? name : ours, ours.empty() ? value : ompio_value(ours, value), origin});
  }
}

std::string located(const std::string& where, const HintProblem& problem) {
  return where + (problem.line > 0 ? ":" + std::to_string(problem.line) : "") + ": " + problem.text;
}

void add_sections(AskedHints& asked, const HintFile& file, const HintOrigin& origin, const std::string& path) {
  for (const HintProblem& problem : file.problems) asked.problems.push_back(located(origin.where, problem));
  for (const HintSection& section : file.sections) {
    if (!glob_matches(section.glob, path)) continue;
    for (const HintProblem& problem : conflicts_of(section.hints)) asked.problems.push_back(located(origin.where, problem));
    for (const HintLine& hint : section.hints) {
      HintOrigin here = origin;
      if (hint.line > 0) here.where += ":" + std::to_string(hint.line);
      asked.hints.push_back({hint.key, hint.value, std::move(here)});
    }
  }
}

// What the site forces goes to the front, where nothing has been said yet.
void force(AskedHints& asked, const HintFile& file, const std::string& where, bool may_force) {
  if (!file.force.empty() && !may_force) {
    asked.problems.push_back(where + ":" + std::to_string(file.force[0].line) + ": force: only the site's file may force hints");
    return;
  }
  std::vector<std::string> names;
  for (const HintLine& key : file.force) {
    if (const std::string why_not = why_not_forced(key.key); !why_not.empty()) asked.problems.push_back(located(where, {key.line, why_not}));
    for (std::string& name : hint_names(key.key)) names.push_back(std::move(name));
  }
  const auto is_forced = [&](const AskedHint& hint) {
    const std::vector<std::string> sets = hint_names(hint.key);
    return !sets.empty() && std::all_of(sets.begin(), sets.end(), [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    });
  };
  for (AskedHint& hint : asked.hints)
    if (hint.origin.where.starts_with(where + ":") && is_forced(hint)) hint.origin.forced = true;
  std::stable_partition(asked.hints.begin(), asked.hints.end(), [](const AskedHint& hint) { return hint.origin.forced; });
}

void add_own_variable(AskedHints& asked) {
  const std::string text = environment("MERCUTIO_HINTS");
  for (const std::string_view view : split(text, ';')) {
    const std::string part(view);
    if (part.find_first_not_of(" \t\n") == std::string::npos || !parse_hint_string(part).empty()) continue;
    asked.problems.push_back("MERCUTIO_HINTS: '" + part + "' must be key=value; several are separated by ;");
  }
  const HintOrigin origin{HintSource::kEnvironment, "MERCUTIO_HINTS", true, false};
  const InfoItems items = parse_hint_string(text);
  for (const auto& [key, value] : items) asked.hints.push_back({key, value, origin});
  for (std::string& problem : conflicts_of(items, origin.where)) asked.problems.push_back(std::move(problem));
}

const std::string& or_this_program(const std::string& name) { return name.empty() ? program_name() : name; }

// As hint_file_places. A directory that isn't there costs a failed open.
std::vector<HintFilePlace> profiles_for(const std::optional<std::string>& program) {
  std::vector<std::pair<i64, std::string>> found;
  const std::string folder = configuration_file("tuned");
  DIR* listing = folder.empty() ? nullptr : ::opendir(folder.c_str());
  const std::string begin = listing && program ? or_this_program(*program) + "-" : "";
  while (const dirent* entry = listing ? ::readdir(listing) : nullptr) {
    const std::string name = entry->d_name, path = folder + "/" + name;
    struct stat status {};
    if (name.starts_with(begin) && name.ends_with(".toml") && ::stat(path.c_str(), &status) == 0)
      found.emplace_back(i64{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec, path);
  }
  if (listing) ::closedir(listing);
  std::sort(found.begin(), found.end());
  std::vector<HintFilePlace> places;
  for (auto& [changed, path] : found) places.push_back({HintSource::kTuner, std::move(path), false, false, true});
  return places;
}

// Whether a profile was measured for such a run: its program, its number of ranks, and the kind of file system.
bool is_for(const HintProfile& profile, const std::string& program, const std::string& path, i64 ranks) {
  if (profile.application != program || (ranks > 0 && profile.ranks != ranks)) return false;
  return profile.file_system.empty() || profile.file_system == file_system_key(path);
}

}  // namespace

std::string file_system_key(const std::string& path) {
  struct statfs status {};
  if (::statfs(folder_of(path).c_str(), &status) != 0) return "";
  char text[24];
  std::snprintf(text, sizeof text, "0x%lx", static_cast<unsigned long>(status.f_type));
  return text;
}

std::vector<KnownProfile> profiles_of_file(const std::string& path) {
  std::vector<KnownProfile> known;
  for (const HintFilePlace& place : profiles_for({})) {
    struct stat status {};
    std::string text;
    if (::stat(place.path.c_str(), &status) != 0 || !read_file(place.path, status, text).empty()) continue;
    const HintFile file = parse_hint_toml(text);
    const bool named = std::any_of(file.sections.begin(), file.sections.end(), [&](const HintSection& section) {
      return !section.hints.empty() && glob_matches(section.glob, path);
    });
    if (named && is_for(file.profile, file.profile.application, path, 0)) known.push_back({file.profile, place.path});
  }
  return known;
}

std::string job_records_of_site() {
  if (const char* const mine = std::getenv("MERCUTIO_SITE")) return std::string_view(mine) == "off" || std::string_view(mine) == "0" ? "" : mine;
  const std::string named = environment("MERCUTIO_SITE_HINTS"), place = named.empty() ? site_file() : named;
  struct stat status {};
  std::string text;
  if (::stat(place.c_str(), &status) != 0 || !read_file(place, status, text).empty()) return "";
  return text.find("jobs") == std::string::npos ? "" : parse_hint_toml(text).jobs.value;
}

std::vector<HintFilePlace> hint_file_places(const std::optional<std::string>& program) {
  std::vector<HintFilePlace> places;
  const std::string romio = environment("ROMIO_HINTS"), site = environment("MERCUTIO_SITE_HINTS");
  const std::string profile = environment("MERCUTIO_PROFILE"), job = environment("MERCUTIO_HINTS_FILE");
  if (romio.empty()) places.push_back({HintSource::kSiteFile, "/etc/romio-hints", false, true});
  places.push_back({HintSource::kSiteFile, site.empty() ? site_file() : site, !site.empty(), false});
  if (profile.empty()) {
    for (HintFilePlace& place : profiles_for(program)) places.push_back(std::move(place));
  } else if (profile != "0") {
    places.push_back({HintSource::kTuner, profile, true, false});
  }
  places.push_back({HintSource::kUserFile, configuration_file("hints.toml"), false, false});
  if (!job.empty()) places.push_back({HintSource::kJobFile, job, true, false});
  if (!romio.empty()) places.push_back({HintSource::kEnvironment, romio, true, true});
  return places;
}

// A file as it was read; `why_not` when it couldn't be.
struct HintSources::Kept {
  struct timespec changed {};
  ino_t inode = 0;
  off_t size = 0;
  HintFile file;
  std::string why_not;
  bool is_of(const struct stat& status) const {
    return changed.tv_sec == status.st_mtim.tv_sec && changed.tv_nsec == status.st_mtim.tv_nsec && inode == status.st_ino && size == status.st_size;
  }
};

struct HintSources::Place : HintFilePlace {
  std::shared_ptr<const Kept> kept;   // null: there is no such file
  int error = 0;
};

// All files, as they were at `ns`.
struct HintSources::Seen {
  std::string asked;   // what decides which files these are
  i64 ns = 0;
  std::vector<Place> places;
  std::string measured_file, measured;
};

HintSources::Place HintSources::look_at(HintFilePlace found) {
  Place place{std::move(found), nullptr, 0};
  struct stat status {};
  if (place.path.empty() || ::stat(place.path.c_str(), &status) != 0) {
    place.error = errno;
    return place;
  }
  std::shared_ptr<const Kept>& known = files_[place.path];
  if (!known || !known->is_of(status)) {
    auto fresh = std::make_shared<Kept>();
    fresh->changed = status.st_mtim;
    fresh->inode = status.st_ino;
    fresh->size = status.st_size;
    std::string text;
    fresh->why_not = read_file(place.path, status, text);
    if (fresh->why_not.empty()) fresh->file = place.romio ? parse_romio_file(text) : parse_hint_toml(text);
    known = std::move(fresh);
  }
  place.kept = known;
  return place;
}

std::shared_ptr<const HintSources::Seen> HintSources::seen(const std::string& program) {
  std::string asked = program;
  for (const char* const name : {"HOME", "XDG_CONFIG_HOME", "ROMIO_HINTS", "MERCUTIO_SITE_HINTS", "MERCUTIO_PROFILE", "MERCUTIO_HINTS_FILE"})
    asked += '\0' + environment(name);
  const i64 now = now_ns();
  std::lock_guard lock(mutex_);
  if (seen_ && seen_->asked == asked && now - seen_->ns < keep_ns_) return seen_;
  auto fresh = std::make_shared<Seen>();
  fresh->asked = std::move(asked);
  fresh->ns = now;
  for (HintFilePlace& place : hint_file_places(program)) fresh->places.push_back(look_at(std::move(place)));
  fresh->measured_file = measured_file();
  if (auto measured = text_of_file(fresh->measured_file)) fresh->measured = std::move(*measured);
  return seen_ = std::move(fresh);
}

void HintSources::forget() {
  std::lock_guard lock(mutex_);
  seen_ = nullptr;
}

void HintSources::add_file(AskedHints& asked, const Place& place, const Opener& opener) {
  if (!place.kept) {
    if (place.named) asked.problems.push_back(place.path + ": " + hint_source_name(place.source) + ": " + errno_text(place.error));
    return;
  }
  const Kept& kept = *place.kept;
  if (place.keyed && !is_for(kept.file.profile, or_this_program(opener.program), opener.path, opener.ranks)) return;
  if (!kept.why_not.empty()) asked.problems.push_back(place.path + ": " + kept.why_not);
  add_sections(asked, kept.file, HintOrigin{place.source, place.path, !place.romio, false}, opener.path);
  const bool of_site = place.source == HintSource::kSiteFile;
  force(asked, kept.file, place.path, of_site);
  if (!of_site && !kept.file.jobs.value.empty())
    asked.problems.push_back(located(place.path, {kept.file.jobs.line, "jobs: only the site's file says where records of jobs go; for your own, set MERCUTIO_SITE"}));
}

AskedHints HintSources::asked_for(const std::string& path, i64 ranks, const std::string& program) {
  AskedHints asked;
  const Opener opener{path, program, ranks};
  const std::shared_ptr<const Seen> files = seen(opener.program);
  for (auto& [key, value] : measured_hints(files->measured, path))
    asked.measured.push_back({key, value, HintOrigin{HintSource::kMeasured, files->measured_file, false, false}});
  for (const Place& place : files->places)
    if (place.source != HintSource::kEnvironment) add_file(asked, place, opener);
  add_sections(asked, parse_cray_hints(environment("MPICH_MPIIO_HINTS")),
               HintOrigin{HintSource::kEnvironment, "MPICH_MPIIO_HINTS", false, false}, path);
  add_ompio(asked);
  for (const Place& place : files->places)
    if (place.source == HintSource::kEnvironment) add_file(asked, place, opener);
  add_own_variable(asked);
  return asked;
}

}  // namespace mercutio
