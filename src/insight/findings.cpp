#include "insight/findings.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "insight/costs.h"
#include "insight/families.h"
#include "insight/rule_parts.h"
#include "insight/rules.h"

namespace mercutio {
namespace {

constexpr std::size_t kWorstNamed = 3;

// What a rule says of a family.
struct Match {
  JobFile file;
  Detection detection;
};

// I/O, of the rank that it held longest.
double longest_held(const Job& job) {
  double longest = 0;
  for (std::size_t i = 0; i < job.traces.size(); ++i) longest = std::max(longest, job.held_seconds(i));
  return longest;
}

double best_of(const Detection& detection) {
  double best = 0;
  for (const Option& one : detection.options) best = std::max(best, one.saved);
  return best;
}

// Of a family, a rule may mean some of the files only.
std::optional<Match> match_of(const Rule& rule, const Job& job, const JobFile& family) {
  std::vector<const JobFile*> meant = family.members;
  if (rule.applies) std::erase_if(meant, [&](const JobFile* one) { return !rule.applies(merge_files({one})); });
  if (meant.empty()) return {};
  Match match{meant.size() == family.members.size() ? family : merge_files(meant), {}};
  const std::optional<Detection> detection = rule.detect(job, match.file);
  if (detection) match.detection = *detection;
  return detection ? std::optional(std::move(match)) : std::nullopt;
}

std::vector<const JobFile*> members_of(const std::vector<Match>& several) {
  std::vector<const JobFile*> all;
  for (const Match& one : several) all.insert(all.end(), one.file.members.begin(), one.file.members.end());
  std::stable_sort(all.begin(), all.end(), [](const JobFile* a, const JobFile* b) { return a->seconds() > b->seconds(); });
  return all;
}

// A fault of many files, each of which does too little to have it alone: by rule, the families that would have it if there were more of them. They
// are found only if the rule says it of all of them together.
std::vector<std::vector<Match>> matches_of(const std::vector<Rule>& all_rules, const Job& job, const std::vector<JobFile>& families) {
  std::vector<std::vector<Match>> found(all_rules.size()), maybe(all_rules.size());
  for (const JobFile& family : families) {
    const JobFile more = times_as_many(family, static_cast<double>(families.size()));
    for (std::size_t i = 0; i < all_rules.size(); ++i) {
      const Rule& rule = all_rules[i];
      if (std::optional<Match> match = match_of(rule, job, family))
        found[i].push_back(std::move(*match));
      else if (families.size() > 1 && !rule.applies && rule.detect(job, more))
        maybe[i].push_back(Match{family, {}});
    }
  }
  for (std::size_t i = 0; i < all_rules.size(); ++i) {
    std::map<std::pair<std::string, std::string>, std::vector<Match>> alike;
    for (Match& one : maybe[i]) alike[{one.file.file_system, one.file.library}].push_back(std::move(one));
    for (auto& [what, group] : alike) {
      const bool together = group.size() > 1 && all_rules[i].detect(job, merge_files(members_of(group)));
      for (std::size_t k = 0; together && k < group.size(); ++k) found[i].push_back(std::move(group[k]));
    }
  }
  return found;
}

// Of `files` files; with how many a name stands for.
std::string names_of(const std::vector<Match>& several, i64 files) {
  std::string text;
  for (std::size_t i = 0; i < std::min(several.size(), kWorstNamed); ++i) {
    const i64 named = several[i].file.files();
    text += (i > 0 ? ", " : "") + several[i].file.name + (several.size() > 1 && named > 1 ? " (" + number_text(named) + " files)" : "");
    files -= named;
  }
  return several.size() <= kWorstNamed || files <= 0 ? text : text + " and " + number_text(files) + " more";
}

// What a rule says of several families is one finding if it says it of all of them together, too.
std::vector<std::vector<Match>> joined(const Rule& rule, const Job& job, std::vector<Match> several) {
  std::map<std::tuple<std::string, std::string, i64>, std::vector<Match>> alike;
  for (Match& one : several) alike[{one.file.file_system, one.file.library, one.detection.rank}].push_back(std::move(one));
  std::vector<std::vector<Match>> groups;
  for (auto& [what, group] : alike) {
    const bool together = group.size() == 1 || rule.detect(job, merge_files(members_of(group)));
    if (together) groups.push_back(std::move(group));
    for (std::size_t i = 0; !together && i < group.size(); ++i) groups.push_back({group[i]});
  }
  return groups;
}

Finding finding_of(const Rule& rule, const Job& job, const std::vector<Match>& several) {
  Finding finding;
  finding.id = rule.id;
  finding.title = rule.title;
  finding.file_system = several.front().file.file_system;
  finding.library = several.front().file.library;
  const std::vector<const JobFile*> members = members_of(several);
  const Detection detection = several.size() == 1 ? several.front().detection : *rule.detect(job, merge_files(members));
  finding.evidence = detection.evidence;
  finding.files = different_files(members);
  finding.file = names_of(several, finding.files);
  for (const JobFile* one : members) {
    if (members.size() > 1 && !one->is_pattern && finding.worst.size() < kWorstNamed) finding.worst.emplace_back(one->name, one->seconds());
  }
  const double run = run_seconds(job);
  const auto factor_of = [run](double seconds) { return run > 0 ? run / (run - seconds) : 1; };
  const double most = std::min(rule.beyond_io ? run : longest_held(job), 0.98 * run), best = std::min(best_of(detection) * job.held_part, most);
  for (const Option& option : detection.options) {
    const double seconds = std::min(option.saved * job.held_part, most), factor = factor_of(seconds);
    if (seconds < 0 || (seconds == 0 && best > 0) || (!gains(factor) && gains(factor_of(best)))) continue;
    finding.remedies.push_back(Remedy{option.text, seconds, factor, option.at_most});
  }
  std::stable_sort(finding.remedies.begin(), finding.remedies.end(), [](const Remedy& a, const Remedy& b) { return a.seconds > b.seconds; });
  if (finding.remedies.empty()) return finding;
  finding.seconds = finding.remedies.front().seconds;
  finding.factor = finding.remedies.front().factor;
  finding.at_most = finding.remedies.front().at_most;
  finding.worth = rule.whatever_it_costs || (gains(finding.factor, finding.at_most) && io_share(job) >= kLittleIo);
  return finding;
}

}  // namespace

double io_share(const Job& job) {
  return job.seconds > 0 ? longest_held(job) / job.seconds : 0;
}

std::vector<Finding> all_findings(const Job& job) {
  const std::vector<JobFile> families = families_of(job);
  std::vector<Finding> found;
  const std::vector<Rule> all = rules();
  std::vector<std::vector<Match>> matches = matches_of(all, job, families);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const std::vector<Match>& group : joined(all[i], job, std::move(matches[i]))) {
      Finding finding = finding_of(all[i], job, group);
      if (!finding.remedies.empty()) found.push_back(std::move(finding));
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Finding& a, const Finding& b) { return a.seconds > b.seconds; });
  return found;
}

std::vector<Finding> find_causes(const Job& job) {
  std::vector<Finding> found = all_findings(job);
  std::erase_if(found, [](const Finding& finding) { return !finding.worth; });
  return found;
}

std::string bytes_text(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  char text[48];
  std::snprintf(text, sizeof text, unit == 0 || bytes >= 100 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
  return text;
}

std::string rate_text(double bytes_per_second) {
  char text[48];
  const double mb = bytes_per_second / 1e6;
  std::snprintf(text, sizeof text, mb < 10 ? "%.2g MB/s" : mb < 10'000 ? "%.0f MB/s" : "%.1f GB/s", mb < 10'000 ? mb : mb / 1000);
  return text;
}

std::string seconds_text(double seconds) {
  char text[48];
  if (seconds < 0.001)
    std::snprintf(text, sizeof text, "%.0f us", seconds * 1e6);
  else if (seconds < 1)
    std::snprintf(text, sizeof text, "%.0f ms", seconds * 1e3);
  else
    std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

}  // namespace mercutio
