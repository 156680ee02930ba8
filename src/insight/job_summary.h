// JobSummary: what all ranks of a job did, in a bounded number of bytes however many ranks and files there are. Summaries of two parts
// of a job make one of both, so a tree of ranks makes that of all. Files beyond the limit become patterns of names. Ranks that did about
// the same become a group, which has the sums of its ranks (likeness.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "insight/job.h"

namespace mercutio {

struct SummaryLimits {
  i64 files = 12, groups = 8;
  i64 bytes() const;  // of what encode() makes
};
// For a job whose ranks know of up to so many files each.
SummaryLimits summary_limits(i64 ranks, i64 files);

// Ranks that did about the same.
struct AlikeRanks {
  PieceHeader header;  // of one of them; times are the longest, those of cores the sums
  i64 ranks = 1;
  std::vector<FileTotals> files;  // as JobSummary::files
  // Sums of the ranges that ranks accessed, by class: those of the totals are from the first byte of any to the last.
  std::vector<std::array<i64, kClasses>> ranges;
};

class JobSummary {
 public:
  JobSummary() = default;
  JobSummary(const RankTrace& trace, const SummaryLimits& limits);
  void add(const JobSummary& other, const SummaryLimits& limits);

  // Into limits.bytes() bytes or more, and from them.
  void encode(std::span<std::byte> bytes) const;
  static JobSummary decode(std::span<const std::byte> bytes);

  // For the rules of the report: each rank is as the average of its group. Of very many ranks, fewer that are like them. `first` has the
  // texts.
  Job job(const RankTrace& first) const;

  const std::vector<FileRecord>& files() const { return files_; }  // without totals
  FileTotals totals(std::size_t file) const;                       // of all ranks
  // Some ranks may have counted it, or a part of it, in the record of a pattern or of other files.
  bool is_partial(std::size_t file) const { return partial_[file]; }
  std::vector<double> held_seconds() const;                        // of a rank, on average, by each file; threads side by side once
  double io_seconds() const;                                       // likewise, by all of them and by opens that failed
  i64 failed_opens() const;                                        // of all ranks
  i64 ranks() const;

 private:
  void shrink(const SummaryLimits& limits);
  struct Held {
    i64 ns = 0, sum_ns = 0;   // in the sum, each thread counts for itself
  };
  Held held() const;
  void shrink_files(i64 most);
  void renumber(std::vector<FileRecord> files, const std::vector<i64>& places);
  void join_likest();
  void mark_partial(const JobSummary& other);
  std::vector<FileRecord> files_;
  std::vector<bool> partial_;   // as files_
  std::vector<AlikeRanks> groups_;
};

// The summary of a job as a line of JSON, for `mercutio jobs`.
struct JobIdentity {
  std::string job, user;
  i64 uid = 0;
};
// In quotes. Bytes that are no UTF-8 are shown as in escaped_bytes() (base/utf8.h), which a name must go through before.
std::string json_text(std::string_view text);
std::string job_line(const JobSummary& summary, const RankTrace& first, const JobIdentity& identity);

}  // namespace mercutio
