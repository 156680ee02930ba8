// Counts of each file as text, with the words of MPICH_MPIIO_STATS where they are the same thing.
#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "base/utf8.h"
#include "insight/costs.h"
#include "insight/findings.h"

namespace mercutio {
namespace {

void add_line(std::string& out, const char* name, const std::string& value) {
  char line[96];
  std::snprintf(line, sizeof line, "|   %-26s = ", name);
  out += line + value + "\n";
}

// Of several ranks in one trace it isn't known which made the calls.
std::string ranks_that(const Job& job, const JobFile& file, i64 (*count)(const FileTotals&, Direction), Direction way) {
  i64 ranks = 0;
  bool sure = true;
  for (std::size_t i = 0; i < job.traces.size(); ++i) {
    const i64 most = std::clamp<i64>(count(file.sum(i), way), 0, job.traces[i].header.members);
    ranks += most;
    sure = sure && most <= 1;
  }
  return (sure ? "" : "at most ") + std::to_string(ranks);
}

i64 alone(const FileTotals& one, Direction way) { return of(one, way, false).calls; }
i64 requests(const FileTotals& one, Direction way) { return one.storage[way == Direction::kWrite ? 1 : 0].calls; }

void add_direction(std::string& out, const Job& job, const JobFile& file, Direction way) {
  const bool write = way == Direction::kWrite;
  const ClassTotals &independent = of(file.all, way, false), &collective = of(file.all, way, true);
  const StorageTotals& storage = file.all.storage[write ? 1 : 0];
  if (independent.calls + collective.calls + storage.calls == 0) return;
  const i64 unit = file.all.stripe_bytes > 0 ? file.all.stripe_bytes : file.all.block_bytes;
  const auto number = [](i64 value) { return std::to_string(value); };
  add_line(out, write ? "independent writes" : "independent reads", number(independent.calls));
  add_line(out, write ? "collective writes" : "collective reads", number(collective.calls));
  add_line(out, write ? "independent writers" : "independent readers", ranks_that(job, file, alone, way));
  add_line(out, write ? "ranks that write storage" : "ranks that read storage", ranks_that(job, file, requests, way));
  add_line(out, write ? "total bytes for writes" : "total bytes for reads",
           number(independent.bytes + collective.bytes) + " = " + bytes_text(static_cast<double>(independent.bytes + collective.bytes)));
  add_line(out, write ? "system writes" : "system reads", number(storage.calls));
  add_line(out, write ? "ave system write size" : "ave system read size", number(storage.calls > 0 ? storage.bytes / storage.calls : 0));
  if (unit > 0)
    add_line(out, write ? "aligned system writes" : "aligned system reads", number(storage.calls - storage.misaligned_calls) + " (to " + number(unit) + ")");
  if (write) add_line(out, "read-modify-write bytes", number(file.all.merged_bytes));
}

}  // namespace

std::string file_counts(const Job& job) {
  const std::string rule = "+" + std::string(62, '-') + "+\n";
  std::string out;
  for (const JobFile& file : job.files) {
    out += rule + "| MPI-IO access counts for " + printable(file.name) + "\n";
    if (file.files() > 1) add_line(out, "files", std::to_string(file.files()));
    add_line(out, "opens", std::to_string(file.all.opens));
    if (file.all.stripe_bytes > 0)
      add_line(out, "stripes", std::to_string(file.all.stripe_count) + " of " + bytes_text(static_cast<double>(file.all.stripe_bytes)));
    add_direction(out, job, file, Direction::kWrite);
    add_direction(out, job, file, Direction::kRead);
  }
  return out.empty() ? out : out + rule;
}

}  // namespace mercutio
