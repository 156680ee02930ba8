#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <map>
#include <set>
#include <tuple>

#include "jobs/jobs.h"

namespace mercutio::tool {
namespace {

double rank_hours(const RecordedJob& job, double seconds) {
  return seconds * static_cast<double>(job.ranks) / 3600;
}

// The largest number there is where the sum is larger: the records are of anybody.
i64 sum_of(i64 one, i64 other) {
  i64 sum = 0;
  return __builtin_add_overflow(one, other, &sum) ? INT64_MAX : sum;
}

// The I/O of ranks that are not in the record is not known.
double io_rank_hours(const RecordedJob& job, double seconds) {
  const i64 known = job.ranks_known > 0 ? std::min(job.ranks_known, job.ranks) : job.ranks;
  return seconds * static_cast<double>(known) / 3600;
}

// A part of a job: what a row counts of it. The best single remedy counts, as those of several findings overlap.
struct Part {
  double io_seconds = 0, lost_seconds = 0, at_most_seconds = 0;
  i64 bytes = 0;
  void lose(const RecordedJob& job, const RecordedFinding& one) {
    double& seconds = one.at_most ? at_most_seconds : lost_seconds;
    seconds = std::min(std::max(seconds, one.seconds), job.seconds);
  }
};

class Table {
 public:
  Table(const char* key, const char* title) : table_{key, title, {}} {}
  void add(const std::string& name, const RecordedJob& job, const Part& part) {
    JobsRow& row = rows_[name];
    row.name = name;
    ++row.jobs;
    row.bytes = sum_of(row.bytes, part.bytes);
    row.rank_hours += rank_hours(job, job.seconds);
    row.io_rank_hours += io_rank_hours(job, part.io_seconds);
    const double lost = rank_hours(job, part.lost_seconds);
    row.lost_rank_hours += lost;
    row.most_rank_hours += std::max(lost, rank_hours(job, part.at_most_seconds));
    if (lost > row.worst_hours) row.worst_hours = lost, row.worst = job.program + (job.job.empty() ? "" : " (job " + job.job + ")");
  }
  JobsTable largest(i64 top) && {
    JobsTable table = std::move(*this).by_name();
    std::stable_sort(table.rows.begin(), table.rows.end(), [](const JobsRow& a, const JobsRow& b) {
      return std::tuple(a.lost_rank_hours, a.most_rank_hours, a.io_rank_hours) > std::tuple(b.lost_rank_hours, b.most_rank_hours, b.io_rank_hours);
    });
    if (static_cast<i64>(table.rows.size()) > top) table.rows.resize(static_cast<std::size_t>(top));
    return table;
  }
  JobsTable by_name() && {
    for (auto& [name, row] : rows_) table_.rows.push_back(std::move(row));
    return std::move(table_);
  }

 private:
  JobsTable table_;
  std::map<std::string, JobsRow> rows_;
};

Part whole(const RecordedJob& job) {
  Part part{job.io_seconds, 0, 0, sum_of(job.read, job.written)};
  for (const RecordedFinding& one : job.findings) part.lose(job, one);
  return part;
}

void add_findings(Table& table, const RecordedJob& job) {
  std::map<std::string, Part> parts;
  for (const RecordedFinding& one : job.findings) {
    Part& part = parts[one.id];
    part.lose(job, one);
    part.io_seconds = job.io_seconds, part.bytes = sum_of(job.read, job.written);
  }
  for (const auto& [id, part] : parts) table.add(id, job, part);
}

void add_file_systems(Table& table, const RecordedJob& job) {
  std::map<std::string, Part> parts;
  for (const RecordedFiles& one : job.files) {
    Part& part = parts[one.file_system.empty() ? "unknown" : one.file_system];
    part.io_seconds += one.seconds, part.bytes = sum_of(part.bytes, sum_of(one.read, one.written));
  }
  for (const RecordedFinding& one : job.findings) {
    parts[one.file_system.empty() ? "unknown" : one.file_system].lose(job, one);
  }
  for (const auto& [name, part] : parts) table.add(name, job, part);
}

// The Monday before.
std::string week_of(i64 seconds) {
  constexpr i64 kDay = 86400;
  const i64 days = seconds / kDay, weekday = (days + 3) % 7;   // 1970 began on a Thursday
  return day_of((days - weekday) * kDay);
}

}  // namespace

std::string day_of(i64 seconds) {
  const auto time = static_cast<time_t>(seconds);
  std::tm parts{};
  char text[32] = "";
  ::gmtime_r(&time, &parts);
  (void)std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

JobsSummary summarise(const std::vector<RecordedJob>& jobs, i64 top) {
  JobsSummary summary;
  Table all("all", "All"), findings("finding", "By finding"), systems("file_system", "By file system"), programs("program", "By program"), users("user", "By user"),
      days("day", "By day"), weeks("week", "By week"), worst("job", "Jobs that lose most");
  std::set<std::string> names;
  for (const RecordedJob& job : jobs) {
    const Part part = whole(job);
    names.insert(job.user);
    summary.first = summary.jobs == 0 ? job.start : std::min(summary.first, job.start);
    summary.last = std::max(summary.last, job.start);
    ++summary.jobs;
    all.add("all", job, part);
    add_findings(findings, job);
    add_file_systems(systems, job);
    programs.add(job.program, job, part);
    users.add(job.user, job, part);
    days.add(day_of(job.start), job, part);
    weeks.add(week_of(job.start), job, part);
    if (part.lost_seconds + part.at_most_seconds > 0) worst.add((job.job.empty() ? "no id" : job.job) + " " + job.program + " " + job.user + " " + day_of(job.start), job, part);
  }
  summary.users = static_cast<i64>(names.size());
  JobsTable sum = std::move(all).by_name();
  if (!sum.rows.empty()) summary.all = sum.rows.front();
  for (Table* one : {&findings, &systems, &programs, &users, &worst}) summary.tables.push_back(std::move(*one).largest(top));
  const bool long_time = summary.last - summary.first > 60 * 86400;
  summary.tables.push_back(std::move(long_time ? weeks : days).by_name());
  return summary;
}

}  // namespace mercutio::tool
