// `mercutio jobs`: what the records of many jobs say together.
#pragma once

#include <string>
#include <vector>

#include "insight/job_records.h"

namespace mercutio::tool {

struct JobsOptions {
  std::vector<std::string> places;  // files, folders, or a pattern of MERCUTIO_SITE; none: where this site has them
  std::string since, until;         // a date, or so long ago: 7d
  std::string user, program, finding, file_system;
  std::string page;                 // HTML goes there
  bool json = false;
  i64 top = 10;
};

int jobs(const JobsOptions& options);

// What was looked at.
struct Records {
  std::vector<RecordedJob> jobs;
  i64 foreign = 0, damaged = 0, unreadable = 0, not_the_owners = 0;  // files or lines that were left out
};
// Adds what is there: a file, or all of a folder and of those in it. False: there is no such place.
bool read_records(const std::string& place, Records& records);

// Jobs that have something in common.
struct JobsRow {
  std::string name;
  i64 jobs = 0, bytes = 0;
  double rank_hours = 0, io_rank_hours = 0;
  double lost_rank_hours = 0;  // that remedies would win
  double most_rank_hours = 0;  // and with those that other ranks are not seen to wait for
  std::string worst;           // its job that loses most
  double worst_hours = 0;
};
struct JobsTable {
  std::string key, title;  // "user", "By user"
  std::vector<JobsRow> rows;
};
struct JobsSummary {
  i64 jobs = 0, users = 0, first = 0, last = 0;  // seconds since 1970
  JobsRow all;
  std::vector<JobsTable> tables;
};
JobsSummary summarise(const std::vector<RecordedJob>& jobs, i64 top);

std::string jobs_text(const JobsSummary& summary, const Records& records);
std::string jobs_json(const JobsSummary& summary, const Records& records);
std::string jobs_page(const JobsSummary& summary, const Records& records);

// "2026-11-25".
std::string day_of(i64 seconds);
std::string hours_text(double hours);

}  // namespace mercutio::tool
