// Reads all records into memory, about 2 KB each, and adds them up in one pass.
#include "jobs/jobs.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>

#include "insight/findings.h"
#include "insight/rules.h"
#include "model/hints_sources.h"
#include "process.h"

namespace mercutio::tool {
namespace {

constexpr i64 kDay = 86400;

// Since 1970; -1: it can't be read. A date is that day's beginning or, as the last one, its end.
i64 time_of(const std::string& text, bool as_last) {
  int year = 0, month = 0, day = 0, used = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2d%n", &year, &month, &day, &used) == 3 && used == static_cast<int>(text.size())) {
    std::tm parts{};
    parts.tm_year = year - 1900, parts.tm_mon = month - 1, parts.tm_mday = day;
    const time_t begin = ::timegm(&parts);   // brings into range what is no date
    return parts.tm_mon == month - 1 && parts.tm_mday == day ? static_cast<i64>(begin) + (as_last ? kDay : 0) : -1;
  }
  i64 count = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || count < 0 || count > 100000 || stop + 1 != text.data() + text.size()) return -1;
  const i64 unit = *stop == 'h' ? 3600 : *stop == 'd' ? kDay : *stop == 'w' ? 7 * kDay : 0;
  return unit > 0 ? static_cast<i64>(::time(nullptr)) - count * unit : -1;
}

struct Wanted {
  i64 since = 0, until = INT64_MAX;
};

bool has(const RecordedJob& job, const JobsOptions& options) {
  const auto found = [&](const RecordedFinding& one) {
    return (options.finding.empty() || one.id == options.finding) && (options.file_system.empty() || one.file_system == options.file_system);
  };
  const auto on = [&](const RecordedFiles& one) { return one.file_system == options.file_system; };
  if (!options.finding.empty()) return std::any_of(job.findings.begin(), job.findings.end(), found);
  return options.file_system.empty() || std::any_of(job.files.begin(), job.files.end(), on);
}

bool meets(const RecordedJob& job, const JobsOptions& options, const Wanted& wanted) {
  return job.start >= wanted.since && job.start < wanted.until && (options.user.empty() || job.user == options.user) &&
         (options.program.empty() || job.program == options.program) && has(job, options);
}

int complain(const std::string& what, int code) {
  std::fprintf(stderr, "mercutio jobs: %s\n", what.c_str());
  return code;
}

// Empty: fine.
std::string check(const JobsOptions& options, Wanted& wanted) {
  if (!options.since.empty() && (wanted.since = time_of(options.since, false)) < 0) return "--since " + options.since + ": neither a date as 2026-11-25 nor a time as 24h, 7d or 4w";
  if (!options.until.empty() && (wanted.until = time_of(options.until, true)) < 0) return "--until " + options.until + ": neither a date as 2026-11-25 nor a time as 24h, 7d or 4w";
  const std::vector<Rule> all = rules();
  if (!options.finding.empty() && std::none_of(all.begin(), all.end(), [&](const Rule& rule) { return rule.id == options.finding; })) {
    std::string names;
    for (const Rule& rule : all) names += " " + std::string(rule.id);
    return "--finding " + options.finding + ": there is no such finding; there are" + names;
  }
  return "";
}

bool write_page(const std::string& path, const std::string& text) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  const bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file && std::fclose(file) == 0;
  return (written && closed) || discard(path);
}

}  // namespace

int jobs(const JobsOptions& options) {
  Wanted wanted;
  if (const std::string wrong = check(options, wanted); !wrong.empty()) return complain(wrong, 2);
  std::vector<std::string> places = options.places;
  if (const std::string site = job_records_of_site(); places.empty() && !site.empty()) places.push_back(site);
  if (places.empty()) return complain("where are the records? Name a folder, or set MERCUTIO_SITE as the jobs have it", 2);
  for (const std::string& place : places)
    if (is_same_file(options.page, place)) return complain(options.page + " is one of the records, and is not overwritten", 2);
  if (Records of_page; !resolved(options.page).empty() && read_records(options.page, of_page) && !of_page.jobs.empty())
    return complain(options.page + " is a record of jobs, and is not overwritten", 2);
  Records records;
  for (const std::string& place : places)
    if (!read_records(place, records)) return complain(place + ": no such folder or file, or it can't be read", 1);
  std::erase_if(records.jobs, [&](const RecordedJob& job) { return !meets(job, options, wanted); });
  const JobsSummary summary = summarise(records.jobs, options.top);
  if (!options.page.empty() && !write_page(options.page, jobs_page(summary, records))) return complain(options.page + ": can't be written", 1);
  if (options.json) std::fputs(jobs_json(summary, records).c_str(), stdout);
  if (!options.json && options.page.empty()) std::fputs(jobs_text(summary, records).c_str(), stdout);
  return 0;
}

}  // namespace mercutio::tool
